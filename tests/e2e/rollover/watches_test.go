package rollover_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"sluice/tests/harness"
	"sluice/workflows"
	"sluice/workflows/countobjects"
)

// watched are the parts of Quiescence's status and result that count here.
type watched struct {
	Count         int64
	RepeatsNeeded int
	Reason        string
}

func TestObservationsSentDuringARollOverAreAllCounted(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.StartWorker()
	g := start(t, s, workflows.TypeQuiescence, s.Name("watch"), `{"source":{"signal":{}},"repeats":5,"delay":{"base":"10m"}}`)
	const senders, each = 5, 40
	observes := func() {
		for range each {
			if err := g.send(message{"observed", `{"count":1}`, true}, nil); err != nil {
				t.Error(err)
			}
			pause()
		}
	}
	all := []func(){g.tunes(1), g.tunes(2)}
	for range senders {
		all = append(all, observes)
	}
	total := int64(g.storm(5, all...) * senders * each)
	await(g, "all are counted", func(w watched) bool { return w.Count == total })
	g.must(message{"finish", `{"reason":"enough"}`, false}, nil)
	var result watched
	g.result(&result)
	require.Equal(t, watched{Count: total, Reason: "forced"}, result)
}

func TestAWatchThatRollsOverIsTunedByEveryMessage(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.StartWorker()
	landing, key := s.NewBucket(), "part"
	_, err := s.S3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &landing, Key: &key, Body: strings.NewReader("x")})
	require.NoError(t, err)
	g := start(t, s, workflows.TypeQuiescence, s.Name("watch"),
		fmt.Sprintf(`{"source":{"s3":{"bucket":%q}},"repeats":100,"delay":{"base":"10m"}}`, landing))
	g.storm(3, g.tunes(1), g.tunes(2))
	await(g, "it still watches", func(w watched) bool { return w.Count == 1 })
	g.must(message{"stop", `{}`, false}, nil)
	var result watched
	g.result(&result)
	require.Equal(t, "stopped", result.Reason)
}

// tunes sends tune again and again; every answer shows what was asked for.
func (g *target) tunes(sender int) func() {
	return func() {
		for n := range 8 {
			var answer watched
			repeats := 100*sender + n
			if err := g.send(message{"tune", fmt.Sprintf(`{"repeats":%d}`, repeats), false}, &answer); err != nil || answer.RepeatsNeeded != repeats {
				g.t.Errorf("tuned to %d: %+v, %v", repeats, answer, err)
			}
			pause()
		}
	}
}

// A counter reports a few times a day, so it hardly ever rolls over; its messages
// end it, whoever sends them at once.
func TestACounterAnswersEveryoneThatEndsIt(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.StartWorker()
	for name, ends := range map[string]struct {
		message, input, state string
	}{"drained": {"drain", `{"wait":"1m"}`, "DONE"}, "stopped": {"stop", `{}`, "STOPPED"}} {
		t.Run(name, func(t *testing.T) {
			url := s.NewQueue(nil)
			g := start(t, s, workflows.TypeCountObjects, s.Name("count"), fmt.Sprintf(`{"queueUrl":%q,"table":%q}`, url, s.NewTable(harness.Table{})))
			const objects = 30
			for n := range objects {
				body := fmt.Sprintf(`{"Records":[{"eventVersion":"2.1","eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"b"},"object":{"key":"k%d","size":1,"eTag":"e","sequencer":"%04X"}}}]}`, n, n)
				_, err := s.SQS.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &url, MessageBody: &body})
				require.NoError(t, err)
			}
			var answered atomic.Int64
			end := func() {
				var answer countobjects.Status
				var ended *serviceerror.NotFound
				err := g.send(message{ends.message, ends.input, false}, &answer)
				switch {
				case err == nil && answer.State == ends.state:
					answered.Add(1)
				case !errors.As(err, &ended): // before this one came
					t.Errorf("%s: %+v, %v", ends.message, answer, err)
				}
			}
			atOnce(end, end, end)
			require.Positive(t, answered.Load())
			var result countobjects.Status
			g.result(&result)
			require.Equal(t, ends.state, result.State)
			if ends.state == "DONE" {
				require.EqualValues(t, objects, result.Events)
			}
		})
	}
}
