package hostile_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sluice/internal/wire"
)

// A call is an activity and the document that it gets.
type call struct {
	Name, Queue, Schema string
	Input               []byte
}

// An outcome is how a call ended.
type outcome struct{ Type, Message, Other string }

// callWorkflow makes calls, each one attempt.
func callWorkflow(ctx workflow.Context, calls []call) (outcomes []outcome, err error) {
	futures := make([]workflow.Future, len(calls))
	for i, c := range calls {
		ctx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			TaskQueue: c.Queue, StartToCloseTimeout: 40 * time.Second, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
		})
		futures[i] = workflow.ExecuteActivity(ctx, c.Name, converter.NewRawValue(&commonpb.Payload{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: c.Input}))
	}
	for _, f := range futures {
		var o outcome
		var application *temporal.ApplicationError
		var answer converter.RawValue
		switch err := f.Get(ctx, &answer); {
		case errors.As(err, &application):
			o.Type, o.Message = application.Type(), application.Message()
		case err != nil:
			o.Other = fmt.Sprintf("%T %v", errors.Unwrap(err), err)
		}
		outcomes = append(outcomes, o)
	}
	return outcomes, nil
}

const attribute = `{"type":"object","oneOf":[{"required":["S"]},{"required":["N"]},{"required":["BOOL"]},{"required":["L"]},{"required":["SS"]}],"properties":{
	"S":{"type":"string"},"N":{"enum":["1","-0.5","12345678901234567890123456789012345678"]},"BOOL":{"type":"boolean"},"L":{"type":"array","items":{}},"SS":{"type":"array","items":{"type":"string"}}}}`

const keyed = `"Key":{"type":"object","required":["id"],"properties":{"id":{"type":"object","required":["S"],"properties":{"S":{"enum":["a","b"]}}}}}`

// served are documents of AWS's own; what is wrong in them the service says.
var served = map[string]string{
	"DynamoDB.GetItem":    `{"type":"object","required":["TableName","Key"],"properties":{"TableName":{"type":"string"},` + keyed + `,"ConsistentRead":{"type":"boolean"}}}`,
	"DynamoDB.PutItem":    `{"type":"object","required":["TableName","Item"],"properties":{"TableName":{"type":"string"},"Item":{"type":"object","additionalProperties":` + attribute + `},"ReturnValues":{"enum":["NONE","ALL_OLD"]}}}`,
	"DynamoDB.DeleteItem": `{"type":"object","required":["TableName","Key"],"properties":{"TableName":{"type":"string"},` + keyed + `,"ReturnConsumedCapacity":{"enum":["TOTAL","NONE"]}}}`,
	"DynamoDB.Query": `{"type":"object","required":["TableName","KeyConditionExpression","ExpressionAttributeValues"],"properties":{"TableName":{"type":"string"},"KeyConditionExpression":{"enum":["id = :v"]},
		"ExpressionAttributeValues":{"type":"object","required":[":v"],"properties":{":v":` + attribute + `}},"Limit":{"type":"integer","minimum":1}}}`,
	"DynamoDB.BatchGetItem":  `{"type":"object","required":["RequestItems"],"properties":{"RequestItems":{"type":"object","additionalProperties":{"type":"object","required":["Keys"],"properties":{"Keys":{"type":"array","items":` + attribute + `}}}}}}`,
	"DynamoDB.DescribeTable": `{"type":"object","required":["TableName"],"properties":{"TableName":{"type":"string"}}}`,
}

// callable are the activities with schemas of ours.
var callable = map[string]string{
	wire.KinesisPutRecords: "kinesis.put-records", wire.KinesisPutObject: "kinesis.put-object", wire.S3Describe: "s3.describe", wire.S3List: "s3.list",
	wire.SQSSend: "sqs.send", wire.AzureQueueSend: "azurequeue.send", wire.HTTPCall: "http.call",
}

func (s *sender) callAny() call {
	name := s.calls[s.IntN(len(s.calls))]
	schema, ours := callable[name]
	if !ours {
		schema = name
	}
	c := call{Name: name, Queue: s.TaskQueue, Schema: schema, Input: s.Document(s.schemas[schema].shape)}
	for served[name] != "" && bytes.Contains(c.Input, []byte("null")) {
		c.Input = s.Document(s.schemas[schema].shape) // the emulator itself dies of an attribute value that is null
	}
	if name == wire.AzureQueueSend {
		c.Queue = wire.AzureTaskQueue(s.TaskQueue)
	}
	if len(c.Input) > 100_000 {
		c.Input = c.Input[:100_000] // twenty go into one input
	}
	return c
}

func (s *sender) callAll(calls []call) {
	if len(calls) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	defer cancel()
	run, err := s.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: s.id(), TaskQueue: s.own}, callWorkflow, calls)
	var outcomes []outcome
	if err == nil {
		err = run.Get(ctx, &outcomes)
	}
	if err != nil {
		s.tally.fault("calls: %v", err)
		return
	}
	for i, o := range outcomes {
		switch c := calls[i]; {
		case o.Other != "":
			s.tally.fault("%s: %s\nof %.1500q", c.Name, o.Other, c.Input)
		case o.Type != "":
			s.judge(c.Name, c.Schema, c.Input, temporal.NewApplicationError(o.Message, o.Type))
		case callable[c.Name] == "":
			s.tally.add("taken") // the service did
		default:
			s.judge(c.Name, c.Schema, c.Input, nil)
		}
	}
}
