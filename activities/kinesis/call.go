package kinesis

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awskinesis "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"sluice/activities"
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
	_, err := api.PutRecords(ctx, input, x.install)
	return err
}

// rawExchange puts a body in behind the SDK's serializer and takes the answer's
// out before its deserializer.
type rawExchange struct {
	*buffers
	cbor         bool // the body is CBOR
	answeredCBOR bool // so was the answer, be it an error
	status       int
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
	out, metadata, err = next.HandleDeserialize(ctx, in)
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
	var api smithy.APIError
	var response *smithyhttp.ResponseError
	status := 0
	if errors.As(err, &response) && response.Response != nil {
		status = response.HTTPStatusCode()
	}
	switch {
	case errors.As(err, &api):
		return recordbatch.Outcome{Kind: kindOf(api.ErrorCode(), status), Code: api.ErrorCode(), Message: brief(api.ErrorMessage())}
	case notSent(err):
		return recordbatch.Outcome{Kind: recordbatch.Failed, Code: codeNotSent, Message: brief(err.Error())}
	default:
		return recordbatch.Outcome{Kind: recordbatch.Lost, Code: codeNoAnswer, Message: brief(err.Error())}
	}
}

// Codes of ours for calls that the service did not answer.
const (
	codeNotSent  = "NotSent"
	codeNoAnswer = "NoAnswer"
)

// kindOf argues each error code of the service.
func kindOf(code string, status int) recordbatch.OutcomeKind {
	switch code {
	case recordbatch.CodeThrottled, "ThrottlingException", "Throttling", "ThrottledException", "RequestThrottled",
		"RequestThrottledException", "TooManyRequestsException", "KMSThrottlingException", "LimitExceededException",
		"RequestLimitExceeded", "BandwidthLimitExceeded", "SlowDown":
		return recordbatch.Throttled
	case "ValidationException", "InvalidArgumentException", "SerializationException", "RequestEntityTooLarge",
		"RequestEntityTooLargeException":
		// One record, or the size of the whole, is not acceptable: a smaller
		// request gets through, or names the record.
		return recordbatch.Unfit
	case "ServiceUnavailable", "ServiceUnavailableException", "ResourceInUseException":
		return recordbatch.Failed
	}
	switch {
	case status == http.StatusTooManyRequests:
		return recordbatch.Throttled
	case status == http.StatusRequestEntityTooLarge:
		return recordbatch.Unfit
	case status == http.StatusServiceUnavailable:
		return recordbatch.Failed
	case status >= 400 && status < 500:
		return recordbatch.Denied
	default:
		// An internal error does not say how far the service got.
		return recordbatch.Lost
	}
}

// deniedType is the type of the error with which a call ends at once.
func deniedType(code string) string {
	switch code {
	case "ResourceNotFoundException", "KMSNotFoundException":
		return activities.TypeNotFound
	case "KMSDisabledException", "KMSInvalidStateException":
		return activities.TypeConflict
	case "UnknownOperationException", "InvalidAction":
		return activities.TypeInvalidInput
	default:
		return activities.TypeAccessDenied
	}
}

// notSent says that no connection came about, so that the request was surely
// not received.
func notSent(err error) bool {
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return true
	}
	var sent *smithyhttp.RequestSendError
	return !errors.As(err, &sent) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) &&
		!errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && isSigning(err)
}

// isSigning says that the request failed before it was sent, for want of
// credentials or an endpoint.
func isSigning(err error) bool {
	text := err.Error()
	return strings.Contains(text, "get identity") || strings.Contains(text, "resolve endpoint") ||
		strings.Contains(text, "retrieve credentials")
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
