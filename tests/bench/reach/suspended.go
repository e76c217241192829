package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"sluice/tests/harness"
	"sluice/workflows"
)

// suspended is what many requests that are suspended at once take.
type suspended struct {
	Requests       int     `json:"requests"`
	SuspendSeconds float64 `json:"suspendSeconds"` // from the first start until visibility finds all
	ListSeconds    float64 `json:"listSeconds"`    // all of them, in pages of 1,000
	StatusP99      float64 `json:"statusP99Seconds"`
	Resumed        int     `json:"resumed"`
	ResumeSeconds  float64 `json:"resumeSeconds"` // until those are done
	ServerMiB      float64 `json:"serverMiB"`     // heap in use more than before
	DatabaseMiB    float64 `json:"databaseMiB"`   // likewise, on disk
}

// suspend starts many requests that are suspended as they begin, looks at them, and
// resumes some beside those that stay. Its server keeps its data in a file.
func suspend(ctx context.Context, requests, resumed int) (*suspended, error) {
	dir, err := os.MkdirTemp("", "sluice-reach-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	p := &harness.Program{}
	defer p.Close()
	s := harness.Start(p, harness.Options{Own: true, Args: []string{"--no-ui", "--data", dir}})
	for range 2 {
		s.StartWorker("SLUICE_LOG_LEVEL=error")
	}
	m := &many{s: s, name: s.Name("many"), bucket: s.NewBucket(), dir: dir}
	out := &suspended{Requests: requests, Resumed: resumed}
	for _, step := range []func(context.Context, *suspended) error{m.begin, m.list, m.look, m.resume} {
		if err := step(ctx, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// many are the requests of one run.
type many struct {
	s                 *harness.Stack
	name, bucket, dir string
}

func (m *many) id(n int) string { return fmt.Sprintf("request/%s-%d", m.name, n) }

func (m *many) of(condition string) string {
	return fmt.Sprintf("WorkflowId STARTS_WITH 'request/%s' AND %s", m.name, condition)
}

const waiting = "SluiceState = 'SUSPENDED'"

func (m *many) begin(ctx context.Context, out *suspended) error {
	heap, size, err := m.holds(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	err = each(out.Requests, func(n int) error {
		jobs := []any{map[string]any{"id": "list", "activity": "S3.List", "input": map[string]any{"bucket": m.bucket}}}
		_, err := m.s.Client.SignalWithStartWorkflow(ctx, m.id(n), workflows.UpdateSuspend, json.RawMessage(`{"ttl":"0s"}`),
			client.StartWorkflowOptions{TaskQueue: m.s.TaskQueue}, workflows.TypeRequest, map[string]any{"jobs": jobs})
		return err
	})
	if err == nil {
		err = counted(ctx, m.s, m.of(waiting), out.Requests)
	}
	if err != nil {
		return err
	}
	out.SuspendSeconds = time.Since(began).Seconds()
	after, grown, err := m.holds(ctx)
	out.ServerMiB, out.DatabaseMiB = after-heap, grown-size
	fmt.Printf("%-58s %10.1f\n", fmt.Sprintf("seconds until %d requests that begin are suspended", out.Requests), out.SuspendSeconds)
	fmt.Printf("%-58s %10.0f\n", "  MiB of the server's heap", out.ServerMiB)
	fmt.Printf("%-58s %10.0f\n", "  MiB of its database", out.DatabaseMiB)
	return err
}

func (m *many) list(ctx context.Context, out *suspended) error {
	began := time.Now()
	found := 0
	var next []byte
	for {
		page, err := m.s.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: m.s.Env("TEMPORAL_NAMESPACE"), Query: m.of(waiting), PageSize: 1000, NextPageToken: next})
		if err != nil {
			return err
		}
		found += len(page.GetExecutions())
		if next = page.GetNextPageToken(); len(next) == 0 {
			break
		}
	}
	if found != out.Requests {
		return fmt.Errorf("%d of %d requests are listed", found, out.Requests)
	}
	out.ListSeconds = time.Since(began).Seconds()
	fmt.Printf("%-58s %10.2f\n", "  seconds to list them all", out.ListSeconds)
	return nil
}

// looks are how many requests are asked for their status, spread over all.
const looks = 200

func (m *many) look(ctx context.Context, out *suspended) error {
	var took []float64
	for n := range min(looks, out.Requests) {
		began := time.Now()
		answer, err := m.s.Client.QueryWorkflow(ctx, m.id(n*out.Requests/looks), "", workflows.QueryStatus)
		if err != nil {
			return err
		}
		var status struct {
			State string `json:"state"`
		}
		if err := answer.Get(&status); err != nil {
			return err
		}
		if status.State != "SUSPENDED" {
			return fmt.Errorf("%s is %s", m.id(n), status.State)
		}
		took = append(took, time.Since(began).Seconds())
	}
	slices.Sort(took)
	out.StatusP99 = took[len(took)*99/100]
	fmt.Printf("%-58s %10.3f\n", "  seconds for the status of one, 99 of 100", out.StatusP99)
	return nil
}

func (m *many) resume(ctx context.Context, out *suspended) error {
	began := time.Now()
	err := each(out.Resumed, func(n int) error {
		return m.s.Client.SignalWorkflow(ctx, m.id(n), "", workflows.UpdateResume, json.RawMessage(`{}`))
	})
	if err == nil {
		err = counted(ctx, m.s, m.of("ExecutionStatus = 'Completed'"), out.Resumed)
	}
	out.ResumeSeconds = time.Since(began).Seconds()
	fmt.Printf("%-58s %10.1f\n", fmt.Sprintf("  seconds until %d of them are resumed and done", out.Resumed), out.ResumeSeconds)
	return err
}

// holds answers the MiB of the server's heap in use and of its database.
func (m *many) holds(ctx context.Context) (heap, database float64, err error) {
	files, err := filepath.Glob(filepath.Join(m.dir, "temporal.db*"))
	if err != nil {
		return 0, 0, err
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			return 0, 0, err
		}
		database += float64(info.Size()) / (1 << 20)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.s.Env("SLUICE_TEMPORAL_METRICS"), nil)
	if err != nil {
		return 0, 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, 0, err
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if name, value, ok := strings.Cut(lines.Text(), " "); ok && strings.HasPrefix(name, "memory_heapinuse{") {
			heap, err = strconv.ParseFloat(value, 64)
			return heap / (1 << 20), database, err
		}
	}
	return 0, 0, errors.Join(errors.New("the server tells no memory_heapinuse"), lines.Err())
}
