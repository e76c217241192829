package kinesis

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awskinesis "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"sluice/activities"
	"sluice/activities/awscall"
	"sluice/internal/recordbatch"
)

// maxAnswer bounds what is read of an answer: 500 entries have about 60 KiB.
const maxAnswer = 4 << 20

// putBody sends a PutRecords body as it stands and takes the answer's as it comes.
// The SDK resolves, signs and reads errors; its encoder and decoder, which cost more
// than all the rest, and its retries are left out.
func putBody(ctx context.Context, api API, n streamName, x *rawExchange) error {
	input := &awskinesis.PutRecordsInput{}
	if n.name != "" {
		input.StreamName = &n.name
	}
	if n.arn != "" {
		input.StreamARN = &n.arn
	}
	if _, err := api.PutRecords(ctx, input, x.install); err != nil {
		if !x.sending.Begun.Load() {
			err = &notSentError{err}
		}
		return err
	}
	return nil
}

// rawExchange puts a body in behind the SDK's serializer and takes the answer's
// out before its deserializer.
type rawExchange struct {
	*buffers
	cbor         bool // the body is CBOR
	answeredCBOR bool // so was the answer, be it an error
	status       int
	sending      awscall.Sending
}

func (x *rawExchange) install(o *awskinesis.Options) {
	o.Retryer = aws.NopRetryer{}
	o.HTTPClient = memoryBody{o.HTTPClient, x.buffers}
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		if _, err := stack.Initialize.Remove("OperationInputValidation"); err != nil {
			return err
		}
		if err := stack.Serialize.Insert(serializeRaw{x}, "OperationSerializer", middleware.After); err != nil {
			return err
		}
		return stack.Deserialize.Add(deserializeRaw{x}, middleware.After)
	})
}

// The service's content type of its second protocol.
const contentCBOR = "application/x-amz-cbor-1.1"

type serializeRaw struct{ *rawExchange }

func (serializeRaw) ID() string { return "SluiceBody" }

func (s serializeRaw) HandleSerialize(ctx context.Context, in middleware.SerializeInput, next middleware.SerializeHandler) (
	out middleware.SerializeOutput, metadata middleware.Metadata, err error,
) {
	request, ok := in.Request.(*smithyhttp.Request)
	if !ok {
		return out, metadata, errors.New("not an HTTP request")
	}
	if request, err = request.SetStream(bytes.NewReader(s.body)); err != nil {
		return out, metadata, err
	}
	if s.cbor {
		request.Header.Set("Content-Type", contentCBOR)
	}
	in.Request = request
	return next.HandleSerialize(ctx, in)
}

type deserializeRaw struct{ *rawExchange }

func (deserializeRaw) ID() string { return "SluiceAnswer" }

func (d deserializeRaw) HandleDeserialize(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
	out middleware.DeserializeOutput, metadata middleware.Metadata, err error,
) {
	out, metadata, err = next.HandleDeserialize(d.sending.Watch(ctx), in)
	response, ok := out.RawResponse.(*smithyhttp.Response)
	if err != nil || !ok {
		return out, metadata, err
	}
	d.status = response.StatusCode
	d.answeredCBOR = strings.HasPrefix(response.Header.Get("Content-Type"), contentCBOR)
	if response.StatusCode/100 != 2 && !d.answeredCBOR {
		return out, metadata, err
	}
	if d.answer, err = readAnswer(response, d.answer[:0]); err != nil {
		return out, metadata, err
	}
	told := "{}"
	if response.StatusCode/100 != 2 {
		told = errorJSON(d.answer)
	}
	response.Body = io.NopCloser(strings.NewReader(told))
	return out, metadata, nil
}

// errorJSON is an error that the service answered in CBOR, in the form that the SDK
// reads. One that can't be read is told by the answer's status and headers alone.
func errorJSON(body []byte) string {
	var told struct {
		Type    string `json:"__type,omitempty"`
		Message string `json:"message,omitempty"`
	}
	code, message, err := recordbatch.CBORError(body)
	if err == nil {
		told.Type, told.Message = code, message
	}
	text, err := json.Marshal(told)
	if err != nil {
		return "{}"
	}
	return string(text)
}

func readAnswer(response *smithyhttp.Response, into []byte) ([]byte, error) {
	defer func() { _ = response.Body.Close() }()
	buffer := bytes.NewBuffer(into)
	if n := response.ContentLength; n > 0 && n <= maxAnswer {
		buffer.Grow(int(n) + bytes.MinRead)
	}
	_, err := buffer.ReadFrom(io.LimitReader(response.Body, maxAnswer))
	return buffer.Bytes(), err
}

// outcomeOf says what the end of a PutRecords call means for its records.
func outcomeOf(err error) recordbatch.Outcome {
	if err == nil {
		return recordbatch.Outcome{Kind: recordbatch.Answered}
	}
	told := awscall.AnswerOf(err)
	outcome := recordbatch.Outcome{Code: told.Code, Message: brief(told.Said()), RequestID: told.RequestID, Type: told.Type()}
	var unsent *notSentError
	switch {
	case told.Access != "":
		outcome.Kind = recordbatch.Denied
	case told.Code != "":
		outcome.Kind = kindOf(told)
	case errors.As(err, &unsent):
		outcome.Kind, outcome.Code = recordbatch.Failed, codeNotSent
	default:
		outcome.Kind, outcome.Code = recordbatch.Lost, codeNoAnswer
	}
	return outcome
}

// Codes of ours for calls that the service did not answer.
const (
	codeNotSent  = "NotSent"
	codeNoAnswer = "NoAnswer"
)

// notSentError is the end of a request that surely never left.
type notSentError struct{ error }

func (e *notSentError) Unwrap() error { return e.error }

// kindOf says what an answer means for the records of a request: the common table,
// but for what a smaller request or another time mends here.
func kindOf(told awscall.Answer) recordbatch.OutcomeKind {
	switch awscall.CodeName(told.Code) {
	case "Validation", "InvalidArgument", "Serialization":
		// One record, or the size of the whole, is not acceptable: a smaller
		// request gets through, or names the record.
		return recordbatch.Unfit
	case "ServiceUnavailable", "ResourceInUse":
		return recordbatch.Failed
	}
	verdict := awscall.Classify(told.Status, told.Code, told.Message)
	switch {
	case verdict.Kind == awscall.Throttle:
		return recordbatch.Throttled
	case verdict.Kind == awscall.TooLarge:
		return recordbatch.Unfit
	case verdict.Kind == awscall.Transient && (!verdict.Applied || told.Status == http.StatusServiceUnavailable):
		return recordbatch.Failed
	case verdict.Kind == awscall.Transient:
		// An internal error does not say how far the service got.
		return recordbatch.Lost
	default:
		return recordbatch.Denied
	}
}

// brief makes a foreign message fit for a history: one line, no secrets, not long.
func brief(message string) string {
	const most = 300
	message = activities.Redact(message)
	if len(message) > most {
		message = strings.ToValidUTF8(message[:most], "") + "…"
	}
	return message
}
