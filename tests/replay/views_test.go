package replay_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"sluice"
)

// TestNoViewTellsNullForAList replays every recorded history, has the workflow answer
// its queries at every activity and timer and at its end, and looks into its answers
// to updates and its result as well: an empty list is [] in all of them. Some were null,
// and whoever asked for their length failed.
func TestNoViewTellsNullForAList(t *testing.T) {
	histories, err := filepath.Glob("testdata/*/*.json")
	require.NoError(t, err)
	asked := map[string]int{}
	var mu sync.Mutex
	t.Run("histories", func(t *testing.T) {
		for _, path := range histories {
			name, _ := filepath.Rel("testdata", path)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				history := load(t, path)
				views := &views{}
				replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
					Plugins:                  []worker.Plugin{sluice.Plugin(nil)},
					Interceptors:             []interceptor.WorkerInterceptor{&viewsInterceptor{views: views}},
					DisableDeadlockDetection: true,
				})
				require.NoError(t, err)
				require.NoError(t, replayer.ReplayWorkflowHistoryWithOptions(nil, history, asRecorded(history)))
				require.Empty(t, views.faults)
				mu.Lock()
				defer mu.Unlock()
				asked[typeOf(history)] += views.seen
			})
		}
	})
	for _, name := range sluice.WorkflowNames() {
		require.Positive(t, asked[name], "no view of %s was looked at", name)
	}
}

// views are what a workflow showed during a replay.
type views struct {
	seen   int
	faults []string
}

func (v *views) look(what string, shown reflect.Value) {
	v.seen++
	for _, path := range nullLists(what, shown) {
		if !slices.Contains(v.faults, path) {
			v.faults = append(v.faults, path)
		}
	}
}

type viewsInterceptor struct {
	interceptor.WorkerInterceptorBase
	views *views
}

func (i *viewsInterceptor) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	in := &viewsInbound{out: &viewsOutbound{views: i.views}}
	in.Next = next
	return in
}

type viewsInbound struct {
	interceptor.WorkflowInboundInterceptorBase
	out *viewsOutbound
}

func (i *viewsInbound) Init(outbound interceptor.WorkflowOutboundInterceptor) error {
	i.out.Next = outbound
	return i.Next.Init(i.out)
}

func (i *viewsInbound) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	result, err := i.Next.ExecuteWorkflow(ctx, in)
	i.out.ask()
	if err == nil {
		i.out.views.look("result", reflect.ValueOf(result))
	}
	return result, err
}

// viewsOutbound keeps the query handlers of a workflow and asks them.
type viewsOutbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	views   *views
	queries []query
}

type query struct {
	name    string
	handler reflect.Value
}

// ask asks every query without an input.
func (o *viewsOutbound) ask() {
	for _, q := range o.queries {
		in := make([]reflect.Value, q.handler.Type().NumIn())
		for n := range in {
			in[n] = reflect.Zero(q.handler.Type().In(n))
		}
		if out := q.handler.Call(in); out[1].IsNil() {
			o.views.look("query "+q.name, out[0])
		}
	}
}

func (o *viewsOutbound) SetQueryHandler(ctx workflow.Context, name string, handler any) error {
	o.queries = append(o.queries, query{name, reflect.ValueOf(handler)})
	return o.Next.SetQueryHandler(ctx, name, handler)
}

func (o *viewsOutbound) SetQueryHandlerWithOptions(ctx workflow.Context, name string, handler any, options workflow.QueryHandlerOptions) error {
	o.queries = append(o.queries, query{name, reflect.ValueOf(handler)})
	return o.Next.SetQueryHandlerWithOptions(ctx, name, handler, options)
}

func (o *viewsOutbound) SetUpdateHandler(ctx workflow.Context, name string, handler any, options workflow.UpdateHandlerOptions) error {
	inner := reflect.ValueOf(handler)
	return o.Next.SetUpdateHandler(ctx, name, reflect.MakeFunc(inner.Type(), func(in []reflect.Value) []reflect.Value {
		out := inner.Call(in)
		if len(out) == 2 && out[1].IsNil() {
			o.views.look("update "+name, out[0])
		}
		return out
	}).Interface(), options)
}

func (o *viewsOutbound) ExecuteActivity(ctx workflow.Context, activityType string, args ...any) workflow.Future {
	o.ask()
	return o.Next.ExecuteActivity(ctx, activityType, args...)
}

func (o *viewsOutbound) NewTimerWithOptions(ctx workflow.Context, d time.Duration, options workflow.TimerOptions) workflow.Future {
	o.ask()
	return o.Next.NewTimerWithOptions(ctx, d, options)
}

// nullLists are the paths of the lists that v's JSON has as null.
func nullLists(path string, v reflect.Value) (paths []string) {
	if !v.IsValid() {
		return nil
	}
	if v.CanInterface() {
		if _, own := v.Interface().(json.Marshaler); own {
			return nil // it writes itself
		}
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return nullLists(path, v.Elem())
		}
	case reflect.Struct:
		for n := range v.NumField() {
			field := v.Type().Field(n)
			name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "-" || !field.IsExported() && !field.Anonymous || strings.Contains(options, "omit") && v.Field(n).IsZero() {
				continue
			}
			paths = append(paths, nullLists(strings.TrimSuffix(path+"."+name, "."), v.Field(n))...)
		}
	case reflect.Slice:
		if v.IsNil() {
			return []string{path}
		}
		for n := range v.Len() {
			paths = append(paths, nullLists(path+"[]", v.Index(n))...)
		}
	case reflect.Map:
		for each := v.MapRange(); each.Next(); {
			paths = append(paths, nullLists(fmt.Sprintf("%s.%v", path, each.Key()), each.Value())...)
		}
	}
	return paths
}

// TestNullListsAreSeen guards the look itself.
func TestNullListsAreSeen(t *testing.T) {
	type inner struct {
		List    []string `json:"list"`
		Omitted []string `json:"omitted,omitempty"`
	}
	shown := struct {
		inner
		Inner []*inner        `json:"inner"`
		Any   map[string]any  `json:"any"`
		Raw   json.RawMessage `json:"raw"`
	}{inner{List: []string{}}, []*inner{{}}, map[string]any{"x": []int(nil)}, nil}
	require.Equal(t, []string{"v.inner[].list", "v.any.x"}, nullLists("v", reflect.ValueOf(shown)))
}
