package soak

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"sluice/internal/jobchain"
	"sluice/tests/harness"
	"sluice/workflows"
)

const (
	putsEach      = 10 // calls of PutRecords, with recordsOf records each
	recordsOf     = 30
	objectsPut    = 4 // by PutObject, with linesOf lines each
	linesOf       = 400
	addsToBuffer  = 40 // to the Producer, with addsOf records each
	addsOf        = 5
	mostSendTries = 100
)

// puts sends records in its three ways: none is missing, and the first copies of those
// of one call, or of the Producer, with one key are in order where that is promised.
func puts(ctx context.Context, w *world) (promises []Promise, err error) {
	stream := w.made.stream
	effect := func(data, group string, sequence int) Effect {
		return Effect{Service: harness.Kinesis, Target: stream, Key: data, Group: group, Sequence: sequence}
	}
	request := func(what string, i int) string { return fmt.Sprintf("request/%s-%s-%d", w.name, what, i) }
	complete := []string{string(jobchain.Complete)}
	for i := range putsEach {
		p := Promise{System: "kinesis", ID: request("records", i), States: complete}
		for n := range recordsOf {
			p.Effects = append(p.Effects, effect(recordText("records", i, n), fmt.Sprint("call", i), n))
		}
		promises = append(promises, p)
	}
	for i := range objectsPut {
		p := Promise{System: "kinesis", ID: request("object", i), States: complete}
		for n := range linesOf {
			p.Effects = append(p.Effects, effect(recordText("object", i, n), "", 0))
		}
		promises = append(promises, p)
	}
	buffer := Promise{System: "kinesis", ID: workflows.ProducerID(stream), States: []string{"STOPPED"}, Figures: map[string]int64{"buffered": 0, "dropped": 0}, Lasting: true}
	for i := range addsToBuffer {
		for n := range addsOf {
			buffer.Effects = append(buffer.Effects, effect(recordText("add", i, n), "producer", i*addsOf+n))
		}
	}
	done := make(chan error, 3)
	go func() { done <- w.spread(ctx, putsEach, w.putRecords(request)) }()
	go func() { done <- w.spread(ctx, objectsPut, w.putObject(request)) }()
	go func() { done <- w.addToBuffer(ctx) }()
	return append(promises, buffer), errors.Join(<-done, <-done, <-done)
}

func recordText(what string, i, n int) string { return fmt.Sprintf("%s %d %d", what, i, n) }

func recordsFor(what string, i, n int) (records []any) {
	for r := range n {
		records = append(records, map[string]any{"Data": base64.StdEncoding.EncodeToString([]byte(recordText(what, i, r))), "PartitionKey": what + fmt.Sprint(i)})
	}
	return records
}

// putJob is a request of one job that sends.
func (w *world) putJob(ctx context.Context, id, activity string, input map[string]any) error {
	job := map[string]any{"id": "put", "activity": "Kinesis." + activity, "heartbeat": "15s", "timeout": "10m", "input": input}
	if err := w.start(ctx, id, workflows.TypeRequest, map[string]any{"jobs": []any{job}}); err != nil {
		return err
	}
	return w.ended(ctx, id)
}

func (w *world) putRecords(id func(string, int) string) func(context.Context, int) error {
	return func(ctx context.Context, i int) error {
		return w.putJob(ctx, id("records", i), "PutRecords", map[string]any{"StreamName": w.made.stream, "Records": recordsFor("records", i, recordsOf),
			"Ordering": "key", "MaxAttempts": mostSendTries, "OnFailed": "fail"})
	}
}

func (w *world) putObject(id func(string, int) string) func(context.Context, int) error {
	return func(ctx context.Context, i int) error {
		var body strings.Builder
		for n := range linesOf {
			body.WriteString(recordText("object", i, n) + "\n")
		}
		key := fmt.Sprint("object", i)
		err := again(ctx, key, func(ctx context.Context) error {
			_, err := w.s.S3.PutObject(ctx, &s3.PutObjectInput{Bucket: &w.made.objects, Key: &key, Body: strings.NewReader(body.String())})
			return err
		})
		if err != nil {
			return err
		}
		return w.putJob(ctx, id("object", i), "PutObject", map[string]any{"StreamName": w.made.stream, "Object": map[string]any{"bucket": w.made.objects, "key": key},
			"MaxAttempts": mostSendTries, "OnFailed": "fail"})
	}
}

// addToBuffer adds to the Producer, one call after the other, and stops it when it has
// sent all.
func (w *world) addToBuffer(ctx context.Context) error {
	id := workflows.ProducerID(w.made.stream)
	if err := w.start(ctx, id, workflows.TypeProducer, map[string]any{"stream": w.made.stream, "maxAttempts": mostSendTries}); err != nil {
		return err
	}
	err := w.inTurn(ctx, addsToBuffer, func(ctx context.Context, i int) error {
		var records []any
		for n := range addsOf {
			records = append(records, map[string]any{"Data": base64.StdEncoding.EncodeToString([]byte(recordText("add", i, n))), "PartitionKey": "producer"})
		}
		return w.update(ctx, id, workflows.UpdateAdd, map[string]any{"records": records})
	})
	if err != nil {
		return err
	}
	return w.until(ctx, id, func(status map[string]any) error {
		if err := w.update(ctx, id, workflows.UpdateFlush, map[string]any{"wait": "20s", "stop": true}); err != nil {
			return err
		}
		if status["buffered"] != float64(0) || status["state"] != "STOPPED" {
			return fmt.Errorf("%v records are not sent, %v", status["buffered"], status["state"])
		}
		return nil
	})
}
