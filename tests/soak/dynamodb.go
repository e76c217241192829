package soak

import (
	"context"
	"fmt"

	"sluice/internal/jobchain"
	"sluice/tests/harness"
	"sluice/workflows"
)

const callsOfEach = 10

// throttled makes calls to a table that takes twenty units a second: writes that may be
// repeated must be there, a sum that may not is there at most once, and exactly once
// where its request ended COMPLETE; a transaction counts once however often it is sent.
func throttled(ctx context.Context, w *world) (promises []Promise, err error) {
	table := w.made.table
	item := func(id string) map[string]any { return map[string]any{"id": map[string]any{"S": id}} }
	sum := func(id string) map[string]any {
		return map[string]any{"TableName": table, "Key": item(id), "UpdateExpression": "ADD n :one", "ExpressionAttributeValues": map[string]any{":one": map[string]any{"N": "1"}}}
	}
	job := func(id, operation string, input map[string]any) map[string]any {
		return map[string]any{"id": id, "activity": "DynamoDB." + operation, "input": input, "heartbeat": "15s"}
	}
	effect := func(key string) Effect { return Effect{Service: harness.DynamoDB, Target: table, Key: key} }
	request := func(what string, i int) string { return fmt.Sprintf("request/%s-%s-%d", w.name, what, i) }
	for i := range callsOfEach {
		puts := Promise{System: "dynamodb", ID: request("puts", i), States: []string{string(jobchain.Complete)}, Effects: []Effect{effect(fmt.Sprint("put", i))}}
		for n := range batchOf {
			puts.Effects = append(puts.Effects, effect(fmt.Sprintf("batch%d-%d", i, n)))
		}
		once := effect(fmt.Sprint("sum", i))
		once.Job, once.AtMost = "sum", 1
		promises = append(promises, puts,
			Promise{System: "dynamodb", ID: request("sum", i), States: []string{string(jobchain.Complete), string(jobchain.Fail)}, Reason: "Ambiguous", Effects: []Effect{once}},
			Promise{System: "dynamodb", ID: itemFinal(table, fmt.Sprint("transaction", i)), Figures: map[string]int64{"n": 1}})
	}
	for _, direction := range []string{"read", "write"} {
		promises = append(promises, Promise{System: "budgets", ID: fmt.Sprintf("throughput/dynamodb/%s/%s/%s/%s", w.s.Env("SLUICE_THROUGHPUT_SCOPE"), w.s.Env("AWS_REGION"), table, direction),
			Figures: map[string]int64{"provisioned": units}, Lasting: true})
	}
	return promises, w.spread(ctx, callsOfEach, func(ctx context.Context, i int) error {
		var batch []any
		for n := range batchOf {
			batch = append(batch, map[string]any{"PutRequest": map[string]any{"Item": item(fmt.Sprintf("batch%d-%d", i, n))}})
		}
		puts := []any{
			job("put", "PutItem", map[string]any{"TableName": table, "Item": item(fmt.Sprint("put", i))}),
			job("batch", "BatchWriteItem", map[string]any{"RequestItems": map[string]any{table: batch}}),
			job("transaction", "TransactWriteItems", map[string]any{"TransactItems": []any{map[string]any{"Update": sum(fmt.Sprint("transaction", i))}}}),
			job("get", "GetItem", map[string]any{"TableName": table, "Key": item(fmt.Sprint("put", i))}),
		}
		if err := w.start(ctx, request("puts", i), workflows.TypeRequest, map[string]any{"jobs": puts}); err != nil {
			return err
		}
		if err := w.start(ctx, request("sum", i), workflows.TypeRequest, map[string]any{"jobs": []any{job("sum", "UpdateItem", sum(fmt.Sprint("sum", i)))}}); err != nil {
			return err
		}
		if err := w.ended(ctx, request("puts", i)); err != nil {
			return err
		}
		return w.ended(ctx, request("sum", i))
	})
}

const batchOf = 8
