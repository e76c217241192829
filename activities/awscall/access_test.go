package awscall

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"sluice/activities"
)

// awsWorld is the real clients in front of a server that refuses.
type awsWorld struct {
	config  aws.Config
	access  *Access
	refuse  func(w http.ResponseWriter, r *http.Request) bool
	calls   atomic.Int32
	fetched atomic.Int32
	none    error // what fetching credentials ends with
	clock   time.Time
}

func newAWSWorld(t *testing.T) *awsWorld {
	t.Helper()
	w := &awsWorld{clock: time.Now()}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.calls.Add(1)
		if w.refuse == nil || !w.refuse(rw, r) {
			if r.Method == http.MethodPost {
				_, _ = io.WriteString(rw, "{}")
			}
		}
	}))
	t.Cleanup(server.Close)
	w.config = aws.Config{Region: "eu-west-1", BaseEndpoint: &server.URL, Credentials: aws.CredentialsProviderFunc(
		func(context.Context) (aws.Credentials, error) {
			n := w.fetched.Add(1)
			return aws.Credentials{AccessKeyID: "AKIA", SecretAccessKey: "secret-key", SessionToken: fmt.Sprint("token-", n)}, w.none
		})}
	w.access = Watch(&w.config)
	w.access.now = func() time.Time { return w.clock }
	return w
}

// services makes one call of each service.
func (w *awsWorld) services() map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"dynamodb": func(ctx context.Context) error {
			_, err := dynamodb.NewFromConfig(w.config).ListTables(ctx, &dynamodb.ListTablesInput{})
			return err
		},
		"kinesis": func(ctx context.Context) error {
			_, err := kinesis.NewFromConfig(w.config, func(o *kinesis.Options) { o.Retryer = aws.NopRetryer{} }).ListStreams(ctx, &kinesis.ListStreamsInput{})
			return err
		},
		"s3": func(ctx context.Context) error {
			_, err := s3.NewFromConfig(w.config, func(o *s3.Options) { o.UsePathStyle = true }).PutObject(ctx,
				&s3.PutObjectInput{Bucket: aws.String("b"), Key: aws.String("k"), Body: strings.NewReader("body")})
			return err
		},
		"sqs": func(ctx context.Context) error {
			_, err := sqs.NewFromConfig(w.config).ListQueues(ctx, &sqs.ListQueuesInput{})
			return err
		},
	}
}

// refusal answers as each service does: S3 in XML, the others in JSON.
func refusal(w http.ResponseWriter, r *http.Request, code string) {
	w.Header().Set("X-Amzn-Requestid", "R1")
	if r.Header.Get("X-Amz-Target") == "" {
		w.Header().Set("X-Amz-Request-Id", "R1")
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>refused</Message></Error>", code)
		return
	}
	w.WriteHeader(http.StatusBadRequest)
	_ = json.NewEncoder(w).Encode(map[string]string{"__type": code, "message": "refused"})
}

// An expired token or a clock that is off is not final: the credentials are fetched
// anew, and the call succeeds, whichever service it was.
func TestACallRefusedForItsCredentialsOrClockIsRepeatedAtOnce(t *testing.T) {
	for _, code := range []string{"ExpiredTokenException", "ExpiredToken", "RequestExpired", "UnrecognizedClientException", "RequestTimeTooSkewed"} {
		w := newAWSWorld(t)
		for service, call := range w.services() {
			w.calls.Store(0)
			fetched := w.fetched.Load()
			w.refuse = func(rw http.ResponseWriter, r *http.Request) bool {
				_, _ = io.Copy(io.Discard, r.Body)
				if w.calls.Load() > 1 {
					return false
				}
				refusal(rw, r, code)
				return true
			}
			require.NoError(t, call(t.Context()), "%s %s", service, code)
			require.EqualValues(t, 2, w.calls.Load(), "%s %s", service, code)
			require.Greater(t, w.fetched.Load(), fetched, "%s %s: the credentials are fetched anew", service, code)
		}
	}
}

// A wrong signature is one of the clock only where the answer's time says so; the
// repeat is signed by the service's time.
func TestAWrongSignatureIsTheClocksOnlyIfItIsOff(t *testing.T) {
	for service := range newAWSWorld(t).services() {
		w := newAWSWorld(t)
		ahead := 6 * time.Minute
		w.refuse = func(rw http.ResponseWriter, r *http.Request) bool {
			now := time.Now().Add(ahead)
			rw.Header().Set("Date", now.UTC().Format(http.TimeFormat))
			signed, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
			if err == nil && now.Sub(signed).Abs() < mostSkew && ahead != 0 {
				return false
			}
			refusal(rw, r, "InvalidSignatureException")
			return true
		}
		require.NoError(t, w.services()[service](t.Context()), service)

		ahead = 0
		w.calls.Store(0)
		err := w.services()[service](t.Context())
		require.Equal(t, activities.TypeAccessDenied, activities.TypeOf(Failure("op", "target", err)), service)
		require.EqualValues(t, 1, w.calls.Load(), "%s: a wrong secret is not tried twice", service)
	}
}

// What stays refused is worth waiting for as long as time may mend it: five minutes
// from the first refusal since the last success, fifteen seconds for credentials
// that never worked.
func TestWhatStaysRefusedIsDeniedInTheEnd(t *testing.T) {
	for _, c := range []struct {
		code   string
		worked bool
		limit  time.Duration
	}{
		{"ExpiredTokenException", false, renewing},
		{"UnrecognizedClientException", true, renewing},
		{"UnrecognizedClientException", false, arriving},
	} {
		w := newAWSWorld(t)
		w.config = aws.Config{Region: "eu-west-1", BaseEndpoint: w.config.BaseEndpoint, Credentials: aws.CredentialsProviderFunc(
			func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{AccessKeyID: "AKIA", SecretAccessKey: "always-this"}, nil
			})}
		w.access = Watch(&w.config)
		w.access.now = func() time.Time { return w.clock }
		call := w.services()["sqs"]
		if c.worked {
			require.NoError(t, call(t.Context()))
		}
		w.refuse = func(rw http.ResponseWriter, r *http.Request) bool { refusal(rw, r, c.code); return true }
		for at, want := range map[time.Duration]string{0: activities.TypeUnavailable, c.limit - 1: activities.TypeUnavailable, c.limit: activities.TypeAccessDenied} {
			started := w.clock
			if at == 0 {
				w.access.refused = map[string]time.Time{}
			} else {
				w.access.refused = map[string]time.Time{"SQS": w.clock}
			}
			w.clock = w.clock.Add(at)
			err := Failure("SQS.Send", "queue", call(t.Context()))
			require.Equal(t, want, activities.TypeOf(err), "%s after %s", c.code, at)
			details, _ := activities.DetailsOf(err)
			require.Equal(t, c.code, details.Code)
			require.Equal(t, "R1", details.RequestID)
			require.ErrorContains(t, err, "refused", "the service's own words")
			w.clock = started
		}
	}
}

// Without credentials or a region a call ends at once, and tells how to give them.
func TestNoCredentialsOrRegionIsToldAtOnce(t *testing.T) {
	for service := range newAWSWorld(t).services() {
		w := newAWSWorld(t)
		w.config.Region = ""
		err := Failure("op", "target", w.services()[service](t.Context()))
		require.Equal(t, activities.TypeAccessDenied, activities.TypeOf(err), service)
		require.ErrorContains(t, err, "AWS_REGION")

		w = newAWSWorld(t)
		w.config = aws.Config{Region: "eu-west-1", BaseEndpoint: w.config.BaseEndpoint, Credentials: aws.NewCredentialsCache(nowhere{})}
		w.access = Watch(&w.config)
		err = Failure("op", "target", w.services()[service](t.Context()))
		require.Equal(t, activities.TypeAccessDenied, activities.TypeOf(err), service)
		require.ErrorContains(t, err, "AWS_ACCESS_KEY_ID")
		require.Zero(t, w.calls.Load())
	}
}

// nowhere is the end of the SDK's chain on a machine that has no role.
type nowhere struct{}

func (nowhere) Retrieve(context.Context) (aws.Credentials, error) {
	return aws.Credentials{}, fmt.Errorf("no EC2 IMDS role found")
}

func (nowhere) ProviderSources() []aws.CredentialSource {
	return []aws.CredentialSource{aws.CredentialSourceIMDS}
}

// Code by code, each service's error has the type that it has everywhere.
func TestOneTableOfCodesForAllServices(t *testing.T) {
	for want, codes := range map[string][]string{
		activities.TypeThrottled: {"SlowDown", "ThrottlingException", "RequestThrottled", "AWS.SimpleQueueService.OverLimit",
			"ProvisionedThroughputExceededException", "KMSThrottlingException", "KmsThrottled"},
		activities.TypeUnavailable:  {"InternalFailure", "ServiceUnavailable", "RequestTimeout", "ExpiredToken", "RequestExpired", "RequestTimeTooSkewed"},
		activities.TypeAccessDenied: {"AccessDeniedException", "SignatureDoesNotMatch", "InvalidSignatureException", "KMSAccessDeniedException"},
		activities.TypeNotFound:     {"NoSuchKey", "NoSuchBucket", "ResourceNotFoundException", "AWS.SimpleQueueService.NonExistentQueue"},
		activities.TypeConflict:     {"InvalidObjectState", "ResourceInUseException", "KMSDisabledException", "PreconditionFailed"},
		activities.TypeTooLarge:     {"EntityTooLarge", "RequestEntityTooLarge"},
		activities.TypeInvalidInput: {"ValidationException", "InvalidArgument"},
	} {
		for _, code := range codes {
			require.Equal(t, want, Answer{Status: 400, Code: code}.Type(), code)
		}
	}
}

// A quota is no throttle: the service says that it is not over in a while.
func TestAQuotaIsAConflictInTheServicesWords(t *testing.T) {
	for message, want := range map[string]string{
		"Subscriber limit exceeded: Provisioned throughput decreases are limited within a given UTC day. After the first 4 decreases, each subsequent decrease in the same UTC day can be performed at most once every 3600 seconds.": activities.TypeConflict,
		"Subscriber limit exceeded: There is a limit of 2500 tables per account":                       activities.TypeConflict,
		"Subscriber limit exceeded: Only 50 tables can be created, updated, or deleted simultaneously": activities.TypeThrottled,
		"Rate exceeded for stream under account":                                                       activities.TypeThrottled,
	} {
		require.Equal(t, want, Answer{Status: 400, Code: "LimitExceededException", Message: message}.Type(), message)
	}
}
