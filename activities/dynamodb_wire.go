package activities

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// A refusal is an answer that is no success, or that no answer came.
type refusal struct {
	status    int    // HTTP; 0 when no answer came
	code      string // as the service spells it
	message   string
	requestID string
	body      json.RawMessage // of the error, where it is JSON
	unsent    bool            // it is certain that the request never left
}

func (r *refusal) Error() string {
	switch {
	case r.code == "":
		return r.message
	case r.message == "":
		return r.code
	default:
		return r.code + ": " + r.message
	}
}

// send puts a document on the wire as it is and returns the answer as it came;
// an error is a *refusal. The SDK resolves the endpoint, signs and verifies
// checksums; its typed input and output, its validation and its retries are
// passed by, so that every field, number and blob stays the caller's own and each
// attempt is counted. tables serve the endpoint rules only.
func send(ctx context.Context, client *dynamodb.Client, operation string, tables []string, document []byte) (json.RawMessage, error) {
	w := &wire{document: document, output: outputOf(operation)}
	err := invoke(ctx, client, operation, tables, func(o *dynamodb.Options) {
		o.Retryer = aws.NopRetryer{}
		o.APIOptions = append(o.APIOptions[:len(o.APIOptions):len(o.APIOptions)], w.insert)
	})
	switch {
	case err == nil && json.Valid(w.answer):
		return w.answer, nil
	case err == nil:
		return nil, &refusal{status: 500, requestID: w.requestID, message: "the answer is no JSON"}
	case w.status == 0:
		return nil, &refusal{message: err.Error(), unsent: !w.sent}
	default:
		return nil, w.refused()
	}
}

// A wire is one exchange.
type wire struct {
	document  []byte
	output    any // of the type that the SDK's caller expects
	sent      bool
	status    int
	requestID string
	answer    []byte
}

// insert changes the SDK's stack for one call: the document goes in behind the
// serializer, the answer is taken out in place of the deserializer.
func (w *wire) insert(stack *middleware.Stack) error {
	_, _ = stack.Initialize.Remove("OperationInputValidation") //nolint:errcheck // some operations have none
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
	return err
}

func (w *wire) deserialize(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
	middleware.DeserializeOutput, middleware.Metadata, error,
) {
	w.sent = true
	out, metadata, err := next.HandleDeserialize(ctx, in)
	response, ok := out.RawResponse.(*smithyhttp.Response)
	if err != nil || !ok || response.Response == nil {
		return out, metadata, err
	}
	answer, err := io.ReadAll(response.Body)
	if closeErr := response.Body.Close(); err == nil {
		err = closeErr // the checksum is compared here
	}
	if err != nil {
		return out, metadata, err
	}
	w.status, w.answer = response.StatusCode, answer
	w.requestID, _ = awsmiddleware.GetRequestIDMetadata(metadata)
	if w.requestID == "" {
		w.requestID = response.Header.Get("X-Amzn-Requestid")
	}
	out.Result = w.output
	if w.status/100 != 2 {
		return out, metadata, &refusal{status: w.status, code: response.Header.Get("X-Amzn-Errortype")}
	}
	return out, metadata, nil
}

// refused reads the error that the service wrote, whatever its form: an HTML page
// of something in between has a status only.
func (w *wire) refused() *refusal {
	r := &refusal{status: w.status, requestID: w.requestID}
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
		r.code = fmt.Sprintf("HTTP %d", w.status)
	}
	if r.message == "" && r.body == nil {
		r.message = strings.TrimSpace(string(w.answer[:min(len(w.answer), 100)]))
	}
	return r
}

// invoke calls an operation of the SDK with what its endpoint rules look at.
func invoke(ctx context.Context, c *dynamodb.Client, operation string, tables []string, with func(*dynamodb.Options)) (err error) {
	table := aws.String("")
	if len(tables) > 0 {
		table = aws.String(tables[0])
	}
	switch operation {
	case "GetItem":
		_, err = c.GetItem(ctx, &dynamodb.GetItemInput{TableName: table}, with)
	case "Query":
		_, err = c.Query(ctx, &dynamodb.QueryInput{TableName: table}, with)
	case "Scan":
		_, err = c.Scan(ctx, &dynamodb.ScanInput{TableName: table}, with)
	case "PutItem":
		_, err = c.PutItem(ctx, &dynamodb.PutItemInput{TableName: table}, with)
	case "UpdateItem":
		_, err = c.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: table}, with)
	case "DeleteItem":
		_, err = c.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: table}, with)
	case "BatchGetItem":
		items := map[string]types.KeysAndAttributes{}
		for _, t := range tables {
			items[t] = types.KeysAndAttributes{}
		}
		_, err = c.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: items}, with)
	case "BatchWriteItem":
		items := map[string][]types.WriteRequest{}
		for _, t := range tables {
			items[t] = nil
		}
		_, err = c.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: items}, with)
	case "TransactGetItems":
		items := make([]types.TransactGetItem, len(tables))
		for i := range tables {
			items[i].Get = &types.Get{TableName: &tables[i]}
		}
		_, err = c.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{TransactItems: items}, with)
	case "TransactWriteItems":
		items := make([]types.TransactWriteItem, len(tables))
		for i := range tables {
			items[i].Put = &types.Put{TableName: &tables[i]}
		}
		_, err = c.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: items}, with)
	case "ListTables":
		_, err = c.ListTables(ctx, &dynamodb.ListTablesInput{}, with)
	case "DescribeTable":
		_, err = c.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: table}, with)
	case "CreateTable":
		_, err = c.CreateTable(ctx, &dynamodb.CreateTableInput{TableName: table}, with)
	case "UpdateTable":
		_, err = c.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: table}, with)
	case "DeleteTable":
		_, err = c.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: table}, with)
	default:
		err = fmt.Errorf("no operation %q", operation)
	}
	return err
}

// outputOf is the typed output that the SDK's own code asserts; it stays empty.
func outputOf(operation string) any {
	switch operation {
	case "GetItem":
		return &dynamodb.GetItemOutput{}
	case "Query":
		return &dynamodb.QueryOutput{}
	case "Scan":
		return &dynamodb.ScanOutput{}
	case "PutItem":
		return &dynamodb.PutItemOutput{}
	case "UpdateItem":
		return &dynamodb.UpdateItemOutput{}
	case "DeleteItem":
		return &dynamodb.DeleteItemOutput{}
	case "BatchGetItem":
		return &dynamodb.BatchGetItemOutput{}
	case "BatchWriteItem":
		return &dynamodb.BatchWriteItemOutput{}
	case "TransactGetItems":
		return &dynamodb.TransactGetItemsOutput{}
	case "TransactWriteItems":
		return &dynamodb.TransactWriteItemsOutput{}
	case "ListTables":
		return &dynamodb.ListTablesOutput{}
	case "DescribeTable":
		return &dynamodb.DescribeTableOutput{}
	case "CreateTable":
		return &dynamodb.CreateTableOutput{}
	case "UpdateTable":
		return &dynamodb.UpdateTableOutput{}
	default:
		return &dynamodb.DeleteTableOutput{}
	}
}
