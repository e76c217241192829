package sqs

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"

	"sluice/activities"
	"sluice/internal/wire"
)

// sender takes messages, with the region in which each was sent.
type sender struct {
	bodies, regions []string
	err             error
}

func (s *sender) SendMessage(_ context.Context, in *awssqs.SendMessageInput, options ...func(*awssqs.Options)) (*awssqs.SendMessageOutput, error) {
	at := awssqs.Options{Region: "eu-central-1"}
	for _, set := range options {
		set(&at)
	}
	s.bodies, s.regions = append(s.bodies, *in.MessageBody), append(s.regions, at.Region)
	if s.err != nil {
		return nil, s.err
	}
	return &awssqs.SendMessageOutput{MessageId: aws.String("m-1")}, nil
}

func send(s *sender, document string) (out SendOutput, err error) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivityWithOptions((&Activities{Client: s}).Send, activity.RegisterOptions{Name: wire.SQSSend})
	value, err := env.ExecuteActivity(wire.SQSSend, json.RawMessage(document))
	if err == nil {
		err = value.Get(&out)
	}
	return out, err
}

func TestABodyIsSentAsItsTextOrItsJSON(t *testing.T) {
	for body, want := range map[string]string{
		`"plain <text>"`:          "plain <text>",
		`{"n":12345678901234567}`: `{"n":12345678901234567}`,
		`[1, "x"]`:                `[1,"x"]`,
		`7`:                       "7",
	} {
		s := &sender{}
		out, err := send(s, `{"queueUrl":"http://127.0.0.1/1/q","body":`+body+`}`)
		require.NoError(t, err)
		require.Equal(t, "m-1", out.MessageID)
		require.Equal(t, []string{want}, s.bodies)
	}
}

func TestAMessageIsSentInTheRegionOfItsQueue(t *testing.T) {
	s := &sender{}
	_, err := send(s, `{"queueUrl":"https://sqs.us-west-2.amazonaws.com/1/q","body":"x"}`)
	require.NoError(t, err)
	_, err = send(s, `{"queueUrl":"http://127.0.0.1:9324/1/q","body":"x"}`)
	require.NoError(t, err)
	require.Equal(t, []string{"us-west-2", "eu-central-1"}, s.regions)
}

func TestNothingIsSentOfAWrongDocument(t *testing.T) {
	for document, want := range map[string]string{
		`{"queueUrl":"u"}`:                         "body: required",
		`{"queueUrl":"u","body":null}`:             "body: required",
		`{"body":"x"}`:                             "queueUrl: required",
		`{"QueueUrl":"u","body":"x"}`:              `write "queueUrl"`,
		`{"queueUrl":"u","body":"x","delay":"1s"}`: "delay: unknown field",
	} {
		s := &sender{}
		_, err := send(s, document)
		require.Equal(t, activities.TypeInvalidInput, activities.TypeOf(err), document)
		require.ErrorContains(t, err, want)
		require.Empty(t, s.bodies)
	}
}

func TestABodyOverTheLimitIsTooLargeBeforeItIsSent(t *testing.T) {
	s := &sender{}
	_, err := send(s, `{"queueUrl":"http://h/1/q","body":"`+strings.Repeat("x", maxMessage)+`"}`)
	require.NoError(t, err)
	_, err = send(s, `{"queueUrl":"http://h/1/q","body":"`+strings.Repeat("x", maxMessage+1)+`"}`)
	require.Equal(t, activities.TypeTooLarge, activities.TypeOf(err))
	require.ErrorContains(t, err, "1048577 bytes, at most 1048576")
	require.Len(t, s.bodies, 1)
}

func TestAFailureNamesTheQueueAndNotItsURL(t *testing.T) {
	_, err := send(&sender{err: errors.New("dial tcp: connection refused")}, `{"queueUrl":"http://h/1/orders","body":"x"}`)
	require.Equal(t, activities.TypeUnavailable, activities.TypeOf(err))
	details, ok := activities.DetailsOf(err)
	require.True(t, ok)
	require.Equal(t, wire.SQSSend, details.Operation)
	require.Equal(t, "orders", details.Target)
}
