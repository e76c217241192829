package dynamodb

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"sluice/activities/awscall"
)

// A refusal is an answer that is no success, or that no answer came.
type refusal struct {
	status    int    // HTTP; 0 when no answer came
	code      string // as the service spells it, without its namespace
	message   string
	requestID string
	body      json.RawMessage // of the error, where it is JSON
	unsent    bool            // it is certain that the request never left
	access    string          // the error's type where credentials or clock were refused
	where     string          // the service was asked
}

// ErrorCode and the two below make it the SDK's kind of error.
func (r *refusal) ErrorCode() string { return r.code }

// ErrorMessage is the service's.
func (r *refusal) ErrorMessage() string { return r.message }

// ErrorFault is not looked at.
func (r *refusal) ErrorFault() smithy.ErrorFault { return smithy.FaultUnknown }

func (r *refusal) Error() string { return awscall.Words(r.code, r.message) }

// send puts a document on the wire as it is and returns the answer as it came;
// an error is a *refusal. The SDK resolves the endpoint, signs and verifies
// checksums; its typed input and output, its validation and its retries are
// passed by, so that every field, number and blob stays the caller's own and each
// attempt is counted. tables serve the endpoint rules only.
func (s *service) send(ctx context.Context, operation string, tables []string, document []byte) (json.RawMessage, error) {
	invocation, ok := invocationOf(operation)
	if !ok {
		return nil, &refusal{message: "no operation " + operation, unsent: true}
	}
	w := &rawBody{document: document, output: invocation.output}
	err := invocation.call(ctx, s.client, tables, func(o *awsdynamodb.Options) {
		o.Retryer = aws.NopRetryer{}
		o.APIOptions = append(o.APIOptions[:len(o.APIOptions):len(o.APIOptions)], w.insert)
	})
	s.heard(w.date, w.came)
	if refused := awscall.RefusalOf(err); refused != nil {
		r := &refusal{message: err.Error()}
		if w.status != 0 {
			r = w.refused()
		}
		r.unsent, r.access = true, refused.Type
		return nil, r
	}
	switch {
	case err == nil && json.Valid(w.answer):
		return w.answer, nil
	case err == nil:
		return nil, &refusal{status: 500, requestID: w.requestID, message: "the answer is no JSON"}
	case w.status == 0:
		return nil, &refusal{message: err.Error(), unsent: !w.sending.Begun.Load()}
	default:
		return nil, w.refused()
	}
}

// A rawBody is one exchange.
type rawBody struct {
	document  []byte
	output    any // of the type that the SDK's caller expects
	sending   awscall.Sending
	date      string    // of the answer, by the service's clock
	came      time.Time // when it did
	status    int
	requestID string
	code      string // as the answer's header has it
	answer    []byte
	where     string // it was asked
}

// insert changes the SDK's stack for one call: the document goes in behind the
// serializer, the answer is taken out in place of the deserializer.
func (w *rawBody) insert(stack *middleware.Stack) error {
	_, _ = stack.Initialize.Remove("OperationInputValidation") // some operations have none
	body := middleware.SerializeMiddlewareFunc("SluiceDocument",
		func(ctx context.Context, in middleware.SerializeInput, next middleware.SerializeHandler) (middleware.SerializeOutput, middleware.Metadata, error) {
			request, ok := in.Request.(*smithyhttp.Request)
			if !ok {
				return middleware.SerializeOutput{}, middleware.Metadata{}, fmt.Errorf("unexpected request %T", in.Request)
			}
			request, err := request.SetStream(bytes.NewReader(w.document))
			if err != nil {
				return middleware.SerializeOutput{}, middleware.Metadata{}, err
			}
			in.Request = request
			return next.HandleSerialize(ctx, in)
		})
	if err := stack.Serialize.Insert(body, "OperationSerializer", middleware.After); err != nil {
		return err
	}
	_, err := stack.Deserialize.Swap("OperationDeserializer",
		middleware.DeserializeMiddlewareFunc("OperationDeserializer", w.deserialize))
	if err != nil {
		return err
	}
	return awscall.AddPlainBodies(stack)
}

func (w *rawBody) deserialize(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
	middleware.DeserializeOutput, middleware.Metadata, error,
) {
	w.status = 0
	out, metadata, err := next.HandleDeserialize(w.sending.Watch(ctx), in)
	response, ok := out.RawResponse.(*smithyhttp.Response)
	if err != nil || !ok || response.Response == nil {
		return out, metadata, err
	}
	w.date, w.came = response.Header.Get("Date"), time.Now()
	answer, err := io.ReadAll(response.Body)
	// Closing compares the checksum, also with one that was not sent.
	if closeErr := response.Body.Close(); err == nil && response.Header.Get("X-Amz-Crc32") != "" {
		err = closeErr
	}
	if err != nil {
		return out, metadata, err
	}
	w.status, w.answer, w.where = response.StatusCode, answer, awscall.Where(response.Request)
	w.requestID, _ = awsmiddleware.GetRequestIDMetadata(metadata)
	if w.requestID == "" {
		w.requestID = response.Header.Get("X-Amzn-Requestid")
	}
	out.Result = w.output
	if w.status/100 != 2 {
		w.code = response.Header.Get("X-Amzn-Errortype")
		return out, metadata, w.refused()
	}
	return out, metadata, nil
}

// refused reads the error that the service wrote, whatever its form: an HTML page
// of something in between has a status only.
func (w *rawBody) refused() *refusal {
	r := &refusal{status: w.status, requestID: w.requestID, where: w.where}
	var fault struct {
		Type    string `json:"__type"`
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	if json.Unmarshal(w.answer, &fault) == nil {
		r.code, r.message, r.body = fault.Type, fault.Message, w.answer
		if r.code == "" {
			r.code = fault.Code
		}
	}
	if r.code == "" {
		r.code, _, _ = strings.Cut(w.code, ":")
	}
	r.code = r.code[strings.LastIndexByte(r.code, '#')+1:] // without the namespace of the wire form
	if r.code == "" {
		r.code = fmt.Sprintf("HTTP %d", w.status)
	}
	if r.message == "" && r.body == nil {
		r.message = strings.TrimSpace(string(w.answer[:min(len(w.answer), 100)]))
	}
	return r
}

// An invocation calls one operation of the SDK with what its endpoint rules look
// at, and makes the typed output that its own code asserts, which stays empty.
type invocation struct {
	call   func(ctx context.Context, c *awsdynamodb.Client, tables []string, with func(*awsdynamodb.Options)) error
	output any
}

func invoking[I, O any](call func(*awsdynamodb.Client, context.Context, *I, ...func(*awsdynamodb.Options)) (*O, error), input func(tables []string) *I) invocation {
	return invocation{
		call: func(ctx context.Context, c *awsdynamodb.Client, tables []string, with func(*awsdynamodb.Options)) error {
			_, err := call(c, ctx, input(tables), with)
			return err
		},
		output: new(O),
	}
}

func invocationOf(operation string) (invocation, bool) {
	switch operation {
	case "GetItem":
		return invoking((*awsdynamodb.Client).GetItem, func(t []string) *awsdynamodb.GetItemInput { return &awsdynamodb.GetItemInput{TableName: first(t)} }), true
	case "Query":
		return invoking((*awsdynamodb.Client).Query, func(t []string) *awsdynamodb.QueryInput { return &awsdynamodb.QueryInput{TableName: first(t)} }), true
	case "Scan":
		return invoking((*awsdynamodb.Client).Scan, func(t []string) *awsdynamodb.ScanInput { return &awsdynamodb.ScanInput{TableName: first(t)} }), true
	case "PutItem":
		return invoking((*awsdynamodb.Client).PutItem, func(t []string) *awsdynamodb.PutItemInput { return &awsdynamodb.PutItemInput{TableName: first(t)} }), true
	case "UpdateItem":
		return invoking((*awsdynamodb.Client).UpdateItem, func(t []string) *awsdynamodb.UpdateItemInput {
			return &awsdynamodb.UpdateItemInput{TableName: first(t)}
		}), true
	case "DeleteItem":
		return invoking((*awsdynamodb.Client).DeleteItem, func(t []string) *awsdynamodb.DeleteItemInput {
			return &awsdynamodb.DeleteItemInput{TableName: first(t)}
		}), true
	case "BatchGetItem":
		return invoking((*awsdynamodb.Client).BatchGetItem, batchGetInput), true
	case "BatchWriteItem":
		return invoking((*awsdynamodb.Client).BatchWriteItem, batchWriteInput), true
	case "TransactGetItems":
		return invoking((*awsdynamodb.Client).TransactGetItems, transactGetInput), true
	case "TransactWriteItems":
		return invoking((*awsdynamodb.Client).TransactWriteItems, transactWriteInput), true
	case "ListTables":
		return invoking((*awsdynamodb.Client).ListTables, func([]string) *awsdynamodb.ListTablesInput { return &awsdynamodb.ListTablesInput{} }), true
	case "DescribeTable":
		return invoking((*awsdynamodb.Client).DescribeTable, func(t []string) *awsdynamodb.DescribeTableInput {
			return &awsdynamodb.DescribeTableInput{TableName: first(t)}
		}), true
	case "CreateTable":
		return invoking((*awsdynamodb.Client).CreateTable, func(t []string) *awsdynamodb.CreateTableInput {
			return &awsdynamodb.CreateTableInput{TableName: first(t)}
		}), true
	case "UpdateTable":
		return invoking((*awsdynamodb.Client).UpdateTable, func(t []string) *awsdynamodb.UpdateTableInput {
			return &awsdynamodb.UpdateTableInput{TableName: first(t)}
		}), true
	case "DeleteTable":
		return invoking((*awsdynamodb.Client).DeleteTable, func(t []string) *awsdynamodb.DeleteTableInput {
			return &awsdynamodb.DeleteTableInput{TableName: first(t)}
		}), true
	default:
		return invocation{}, false
	}
}

func first(tables []string) *string {
	if len(tables) == 0 {
		return aws.String("")
	}
	return &tables[0]
}

func batchGetInput(tables []string) *awsdynamodb.BatchGetItemInput {
	items := map[string]types.KeysAndAttributes{}
	for _, t := range tables {
		items[t] = types.KeysAndAttributes{}
	}
	return &awsdynamodb.BatchGetItemInput{RequestItems: items}
}

func batchWriteInput(tables []string) *awsdynamodb.BatchWriteItemInput {
	items := map[string][]types.WriteRequest{}
	for _, t := range tables {
		items[t] = nil
	}
	return &awsdynamodb.BatchWriteItemInput{RequestItems: items}
}

func transactGetInput(tables []string) *awsdynamodb.TransactGetItemsInput {
	items := make([]types.TransactGetItem, len(tables))
	for i := range tables {
		items[i].Get = &types.Get{TableName: &tables[i]}
	}
	return &awsdynamodb.TransactGetItemsInput{TransactItems: items}
}

func transactWriteInput(tables []string) *awsdynamodb.TransactWriteItemsInput {
	items := make([]types.TransactWriteItem, len(tables))
	for i := range tables {
		items[i].Put = &types.Put{TableName: &tables[i]}
	}
	return &awsdynamodb.TransactWriteItemsInput{TransactItems: items}
}
