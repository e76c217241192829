// Package secrets_test runs Sluice with secrets that it knows, against services that
// echo what they get, and then looks for them wherever Sluice and Temporal keep or tell
// anything, in every encoding.
package secrets_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"sluice/internal/secret"
	"sluice/tests/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m, "--no-ui")) }

// A trace is where secrets are looked for, by what it is.
type trace map[string]string

var payloadData = regexp.MustCompile(`"data":\s*"([A-Za-z0-9+/=]+)"`)

// add keeps a text, with the data of payloads in it also as it is.
func (t trace) add(where, text string) {
	var b strings.Builder
	b.WriteString(text)
	for _, data := range payloadData.FindAllStringSubmatch(text, -1) {
		if raw, err := base64.StdEncoding.DecodeString(data[1]); err == nil {
			b.WriteByte('\n')
			b.Write(raw)
		}
	}
	t[where] += b.String()
}

// found lists where secrets are, and in which form.
func (t trace) found(secrets map[string]string) (all []string) {
	for name, value := range secrets {
		for _, form := range secret.Forms(value) {
			for where, text := range t {
				if at := strings.Index(text, form); at >= 0 {
					all = append(all, fmt.Sprintf("%s in %s as %q: …%.300s", name, where, form, text[max(0, at-120):]))
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

// everything keeps each workflow's history and description, and the server's files.
func (t trace) everything(test *testing.T, s *harness.Stack, data string) (workflows int) {
	test.Helper()
	ctx := test.Context()
	listed, err := s.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{PageSize: 1000})
	require.NoError(test, err)
	for _, w := range listed.GetExecutions() {
		id, run := w.GetExecution().GetWorkflowId(), w.GetExecution().GetRunId()
		events := s.Client.GetWorkflowHistory(ctx, id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			require.NoError(test, err)
			t.add("history of "+id, protojson.Format(event))
		}
		described, err := s.Client.DescribeWorkflow(ctx, id, run)
		require.NoError(test, err)
		t.add("description of "+id, protojson.Format(described.RawResponse))
		if answer, err := s.Client.QueryWorkflow(ctx, id, run, "status"); err == nil {
			var status any
			require.NoError(test, answer.Get(&status))
			t.add("status of "+id, fmt.Sprint(status))
		}
	}
	files, err := filepath.Glob(filepath.Join(data, "temporal.db*"))
	require.NoError(test, err)
	require.NotEmpty(test, files, "the server's database")
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(test, err)
		t["database"] += string(raw)
	}
	return len(listed.GetExecutions())
}
