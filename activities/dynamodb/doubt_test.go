package dynamodb

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"sluice/activities"
)

// keptMarks is a Temporal that keeps the checkpoints it is sent, or can't.
type keptMarks struct {
	mu    sync.Mutex
	err   error
	marks []checkpoint
}

func (k *keptMarks) RecordActivityHeartbeat(_ context.Context, _ []byte, details ...any) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err == nil {
		k.marks = append(k.marks, details[0].(checkpoint))
	}
	return k.err
}

func (k *keptMarks) last() checkpoint {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.marks[len(k.marks)-1]
}

// try runs one attempt of an operation, from the checkpoint of an earlier one.
func try(t *testing.T, db *Activities, operation, document string, checkpoint any) error {
	t.Helper()
	suite := &testsuite.WorkflowTestSuite{}
	suite.SetLogger(quiet{})
	env := suite.NewTestActivityEnvironment()
	env.SetTestTimeout(time.Minute)
	for _, a := range db.All() {
		env.RegisterActivityWithOptions(a.Code, activity.RegisterOptions{Name: a.Name})
	}
	if checkpoint != nil {
		env.SetHeartbeatDetails(checkpoint)
	}
	_, err := env.ExecuteActivity("DynamoDB."+operation, json.RawMessage(document))
	return err
}

const (
	transaction = `{"TransactItems":[{"Update":{"TableName":"orders","Key":{"id":{"S":"n"}},"UpdateExpression":"ADD c :one","ExpressionAttributeValues":{":one":{"N":"1"}}}}]}`
	increment   = `{"TableName":"orders","Key":{"id":{"S":"n"}},"UpdateExpression":"ADD c :one","ExpressionAttributeValues":{":one":{"N":"1"}}}`
)

// transacting answers transactions as told, and everything else.
func transacting(replies ...reply) *fakeDynamoDB {
	return &fakeDynamoDB{answer: func(operation string, _ []byte) reply {
		if operation != "TransactWriteItems" {
			return reply{status: 400, body: `{"__type":"AccessDeniedException"}`}
		}
		next := replies[0]
		if len(replies) > 1 {
			replies = replies[1:]
		}
		return next
	}}
}

// tokensIn are the tokens of the transactions that were sent.
func tokensIn(fake *fakeDynamoDB) (tokens []string) {
	for _, body := range fake.sent() {
		var sent struct {
			TransactItems      json.RawMessage
			ClientRequestToken string
		}
		if json.Unmarshal([]byte(body), &sent) == nil && sent.TransactItems != nil {
			tokens = append(tokens, sent.ClientRequestToken)
		}
	}
	return tokens
}

// TestATransactionInDoubtIsRepeatedUnderItsTokenOnly: a mark is good for nine
// minutes of the service's clock, whatever the worker's says, and for the token in
// it. The service's clock is an hour behind here.
func TestATransactionInDoubtIsRepeatedUnderItsTokenOnly(t *testing.T) {
	service := time.Now().Add(-time.Hour)
	own := strings.Replace(transaction, "{", `{"ClientRequestToken":"own",`, 1)
	for name, c := range map[string]struct {
		ago      time.Duration
		token    string
		document string
		repeated bool
	}{
		"within nine minutes":        {8*time.Minute + 50*time.Second, "first", transaction, true},
		"after nine minutes":         {9*time.Minute + 5*time.Second, "first", transaction, false},
		"marked by another clock":    {-time.Hour, "first", transaction, true},
		"marked without a token":     {time.Second, "", transaction, false},
		"the caller's own token":     {time.Second, "own", own, true},
		"another than the caller's":  {time.Second, "first", own, false},
		"the caller's, marked empty": {time.Second, "", own, false},
	} {
		t.Run(name, func(t *testing.T) {
			fake := transacting(reply{status: 200, body: `{}`})
			fake.date = func() time.Time { return service }
			db := against(t, fake, func(c *Config) { c.Marks = &keptMarks{} })
			sent := service.Add(-c.ago)
			err := try(t, db, "TransactWriteItems", c.document, checkpoint{Sending: &sent, Token: c.token})
			if !c.repeated {
				require.Equal(t, activities.TypeAmbiguous, activities.TypeOf(err), "%v", err)
				require.Empty(t, tokensIn(fake))
				return
			}
			require.NoError(t, err)
			require.Equal(t, []string{c.token}, tokensIn(fake))
		})
	}
}

// TestATransactionIsMarkedWithItsTokenByTheServicesClock: before it is sent, and
// all that an attempt repeats goes under the token of its mark.
func TestATransactionIsMarkedWithItsTokenByTheServicesClock(t *testing.T) {
	service := time.Now().Add(-time.Hour)
	marks := &keptMarks{}
	fake := transacting(reply{}, reply{}, reply{status: 200, body: `{}`})
	fake.date = func() time.Time { return service }
	db := against(t, fake, func(c *Config) { c.Marks = marks })
	require.NoError(t, try(t, db, "TransactWriteItems", transaction, nil))
	mark := marks.last()
	require.NotEmpty(t, mark.Token)
	require.WithinDuration(t, service, *mark.Sending, time.Minute)
	require.Equal(t, []string{mark.Token, mark.Token, mark.Token}, tokensIn(fake))

	// Another try, of whatever number, goes on under it.
	require.NoError(t, try(t, db, "TransactWriteItems", transaction, mark))
	require.Equal(t, mark.Token, tokensIn(fake)[3])
}

// TestARefusalLeavesAnEarlierDoubt: a request whose answer was lost may be applied,
// though the service says of the next that it did nothing.
func TestARefusalLeavesAnEarlierDoubt(t *testing.T) {
	fake := transacting(reply{}, reply{status: 400, body: `{"__type":"ThrottlingException"}`})
	marks := &keptMarks{}
	db := against(t, fake, func(c *Config) { c.Marks = marks })
	err := try(t, db, "TransactWriteItems", transaction, nil)
	var application *temporal.ApplicationError
	require.ErrorAs(t, err, &application)
	require.Equal(t, activities.TypeThrottled, application.Type())
	var details activities.ErrorDetails
	var left checkpoint
	require.NoError(t, application.Details(&details, &left))
	require.NotNil(t, left.Sending, "it stays marked")
	require.Equal(t, tokensIn(fake)[0], left.Token)

	fake = transacting(reply{status: 400, body: `{"__type":"ThrottlingException"}`})
	db = against(t, fake, func(c *Config) { c.Marks = marks })
	require.Equal(t, activities.TypeThrottled, activities.TypeOf(try(t, db, "TransactWriteItems", transaction, nil)))
	require.Nil(t, marks.last().Sending, "what was refused from the first on is not in doubt")

	fake = &fakeDynamoDB{replies: []reply{{status: 400, body: `{"__type":"ThrottlingException"}`}, {status: 200, body: `{}`}}}
	db = against(t, fake, func(c *Config) { c.Marks = marks })
	require.NoError(t, try(t, db, "UpdateItem", increment, nil), "and is repeated")
}

// TestNothingIsSentWithoutAMark: where Temporal doesn't record it, or the service
// doesn't tell its time.
func TestNothingIsSentWithoutAMark(t *testing.T) {
	for name, marks := range map[string]activities.HeartbeatRecorder{"can't": &keptMarks{err: errors.New("unreachable")}, "nobody": nil} {
		t.Run(name, func(t *testing.T) {
			for operation, document := range map[string]string{"TransactWriteItems": transaction, "UpdateItem": increment} {
				fake := &fakeDynamoDB{replies: []reply{{status: 200, body: `{}`}}}
				db := against(t, fake, func(c *Config) { c.Marks = marks })
				require.Equal(t, activities.TypeUnavailable, activities.TypeOf(try(t, db, operation, document, nil)))
				for _, body := range fake.sent() {
					require.NotContains(t, body, "ADD c", operation)
				}
			}
		})
	}
	fake := &fakeDynamoDB{replies: []reply{{}}}
	db := against(t, fake, func(c *Config) { c.Marks = &keptMarks{} })
	require.Equal(t, activities.TypeUnavailable, activities.TypeOf(try(t, db, "TransactWriteItems", transaction, nil)))
	require.Empty(t, tokensIn(fake), "no answer told the service's time")
}

// TestATokenMakesNoOtherWriteRepeatable: only transactions have one.
func TestATokenMakesNoOtherWriteRepeatable(t *testing.T) {
	fake := &fakeDynamoDB{replies: []reply{{}}}
	db := against(t, fake, func(c *Config) { c.Marks = &keptMarks{} })
	err := try(t, db, "UpdateItem", strings.Replace(increment, "{", `{"ClientRequestToken":"own",`, 1), nil)
	require.Equal(t, activities.TypeAmbiguous, activities.TypeOf(err), "%v", err)
	require.Len(t, fake.sent(), 1)
}

// TestAWriteThatWasNeverSentIsNotInDoubt: without a connection nothing leaves, so
// that the write may be repeated, and its mark is taken back.
func TestAWriteThatWasNeverSentIsNotInDoubt(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	nowhere := awshttp.NewBuildableClient().WithTransportOptions(func(tr *http.Transport) {
		tr.DialContext = func(_ context.Context, network, _ string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: network, Err: &net.DNSError{Err: "no such host", Name: "dynamodb", IsNotFound: true}}
		}
	})
	for name, c := range map[string]struct {
		endpoint string
		client   aws.HTTPClient
	}{
		"connection refused": {gone.URL, nil},
		"no such host":       {"http://dynamodb", nowhere},
		"no handshake":       {strings.Replace(plain.URL, "http:", "https:", 1), nil},
	} {
		t.Run(name, func(t *testing.T) {
			marks := &keptMarks{}
			db := against(t, &fakeDynamoDB{}, func(config *Config) {
				config.Marks = marks
				config.Client = awsdynamodb.New(awsdynamodb.Options{BaseEndpoint: &c.endpoint, HTTPClient: c.client, Region: "eu-west-1",
					Credentials: credentials.NewStaticCredentialsProvider("id", "secret", "")})
			})
			err := try(t, db, "UpdateItem", increment, nil)
			require.Equal(t, activities.TypeUnavailable, activities.TypeOf(err), "%v", err)
			require.Nil(t, marks.last().Sending)
		})
	}
}
