package requests_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"sluice"
	"sluice/internal/connect"
	"sluice/internal/jobchain"
	"sluice/internal/wire"
	"sluice/tests/harness"
)

// handed is the header of a job as code reads it that knows nothing of ours.
type handed struct {
	FirstRun   string `json:"firstRun"`
	Key        string `json:"key"`
	Checkpoint *int   `json:"checkpoint"`
}

type handedKey struct{}

// readsHeader is such code's interceptor.
type readsHeader struct {
	interceptor.WorkerInterceptorBase
	dc converter.DataConverter
}

func (r *readsHeader) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	i := &readsHeaderInbound{dc: r.dc}
	i.Next = next
	return i
}

type readsHeaderInbound struct {
	interceptor.ActivityInboundInterceptorBase
	dc converter.DataConverter
}

func (i *readsHeaderInbound) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	var h handed
	if err := i.dc.FromPayload(interceptor.Header(ctx)["sluice-handed"], &h); err != nil {
		return nil, err
	}
	return i.Next.ExecuteActivity(context.WithValue(ctx, handedKey{}, h), in)
}

// theirs counts as another's code does: it goes on from the header, heartbeats, and
// hands nothing over when it is asked to stop. It ends when it was begun again.
func theirs(ctx context.Context, in struct{ Fails bool }) (handed, error) {
	h := ctx.Value(handedKey{}).(handed)
	if h.Checkpoint != nil {
		return h, nil
	}
	for step := 1; ; step++ {
		activity.RecordHeartbeat(ctx, step)
		select {
		case <-ctx.Done():
			if in.Fails {
				return h, errors.New("interrupted")
			}
			return h, temporal.NewCanceledError()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// theirWorker runs theirs on a queue of its own, with nothing of ours.
func (b *bench) theirWorker() (queue string) {
	b.t.Helper()
	c, err := client.NewClientFromExisting(b.Client, client.Options{DataConverter: b.dc})
	require.NoError(b.t, err)
	b.t.Cleanup(c.Close)
	queue = b.Name("theirs")
	w := worker.New(c, queue, worker.Options{MaxHeartbeatThrottleInterval: 100 * time.Millisecond, Interceptors: []interceptor.WorkerInterceptor{&readsHeader{dc: b.dc}}})
	w.RegisterActivityWithOptions(theirs, activity.RegisterOptions{Name: "Theirs"})
	require.NoError(b.t, w.Start())
	b.t.Cleanup(w.Stop)
	return queue
}

// A job whose code knows nothing of ours once began anew after a suspension: it ended
// with a plain cancel, and its heartbeat was gone with it.
func TestAJobOfAnothersCodeKeepsWhatItHeartbeatWhenItWasAskedToStop(t *testing.T) {
	b := newBench(t)
	queue := b.theirWorker()
	run := b.start(fmt.Sprintf(`{"jobs":[
		{"id":"a","activity":"Theirs","taskQueue":%[1]q,"heartbeat":"30s"},
		{"id":"b","activity":"Theirs","taskQueue":%[1]q,"heartbeat":"30s","input":{"fails":true}},
		{"id":"c","workflow":"Request","input":{"jobs":[{"id":"a","activity":"Theirs","taskQueue":%[1]q,"heartbeat":"30s"}]}}]}`, queue))
	b.awaitCheckpoint(run, "a/1")
	b.awaitCheckpoint(run, "b/1")
	b.awaitCheckpointOf(run.GetID()+"/c/1", "a/1")
	s := b.must(run, "suspend", `{"wait":"1m","grace":"1m"}`)
	require.Zero(t, s.Stopping)
	require.Equal(t, jobchain.Suspended, s.State)
	b.must(run, "resume", `{}`)
	result := b.result(run)
	var child struct{ Jobs map[string]json.RawMessage }
	require.NoError(t, json.Unmarshal(result.Jobs["c"], &child))
	for id, output := range map[string]json.RawMessage{"a": result.Jobs["a"], "b": result.Jobs["b"], "a of c": child.Jobs["a"]} {
		var h handed
		require.NoError(t, json.Unmarshal(output, &h))
		require.NotNil(t, h.Checkpoint, "%s began anew", id)
		require.Positive(t, *h.Checkpoint)
		require.Equal(t, id[:1]+"/1", h.Key)
	}
	b.Record(run.GetID(), "Request", "jobs-of-anothers-code-keep-their-heartbeats", run.GetRunID())
}

// Where what the jobs have heartbeat can't be read, the suspension goes on all the same.
func TestHeartbeatsThatCannotBeReadHoldNoSuspensionUp(t *testing.T) {
	over := make(chan struct{})
	for name, read := range map[string]func(context.Context, wire.HeartbeatsInput) (*wire.Heartbeats, error){
		"no such activity": nil,
		"it fails": func(context.Context, wire.HeartbeatsInput) (*wire.Heartbeats, error) {
			return nil, errors.New("Temporal is not there")
		},
		"it hangs": func(context.Context, wire.HeartbeatsInput) (*wire.Heartbeats, error) {
			<-over
			return nil, errors.New("too late")
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.stopWorker()
			b.worker = worker.New(b.c, b.TaskQueue, worker.Options{Plugins: []worker.Plugin{sluice.Plugin(nil)}})
			if read != nil {
				b.worker.RegisterActivityWithOptions(read, activity.RegisterOptions{Name: wire.ReadHeartbeats.Name})
			}
			require.NoError(t, b.worker.Start())
			run := b.start(fmt.Sprintf(`{"jobs":[{"id":"a","activity":"Theirs","taskQueue":%q,"heartbeat":"30s"}]}`, b.theirWorker()))
			b.awaitCheckpoint(run, "a/1")
			s := b.must(run, "suspend", `{"wait":"1m","grace":"1m"}`)
			require.Zero(t, s.Stopping)
			require.Equal(t, jobchain.Stopped, s.Jobs[0].State)
			b.must(run, "stop", `{}`)
			require.Equal(t, jobchain.Stopped, b.result(run).State)
		})
	}
	close(over)
}

// Heartbeats are encrypted where all payloads are.
func TestEncryptedHeartbeatsOfAnothersCodeAreKept(t *testing.T) {
	codec, err := connect.Encryption("one:" + base64.StdEncoding.EncodeToString(make([]byte, 32)))
	require.NoError(t, err)
	b := newBenchBy(t, converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), codec))
	run := b.start(fmt.Sprintf(`{"jobs":[{"id":"a","activity":"Theirs","taskQueue":%q,"heartbeat":"30s"}]}`, b.theirWorker()))
	harness.Await(t, "a heartbeat", func(ctx context.Context) error {
		described, err := b.c.DescribeWorkflow(ctx, run.GetID(), "")
		if err != nil {
			return err
		}
		for _, pending := range described.RawResponse.GetPendingActivities() {
			if len(pending.GetHeartbeatDetails().GetPayloads()) > 0 {
				return nil
			}
		}
		return errors.New("none yet")
	})
	b.must(run, "suspend", `{"wait":"1m","grace":"1m"}`)
	b.must(run, "resume", `{}`)
	var h handed
	require.NoError(t, json.Unmarshal(b.result(run).Jobs["a"], &h))
	require.NotNil(t, h.Checkpoint, "began anew")
}
