package kinesis_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/activities/kinesis"
	"sluice/tests/harness"
)

// TestAggregatesAreReadByAPublicDeaggregator: what the stream holds comes apart
// again in the npm package aws-kinesis-agg, complete, with keys and checksums.
func TestAggregatesAreReadByAPublicDeaggregator(t *testing.T) {
	w := newWorld(t, 2)
	const n = 1000
	list := make([]map[string]any, n)
	for i := range list {
		list[i] = map[string]any{"Data": []byte(strings.Repeat(fmt.Sprintf("record %d é\n", i), i%20)), "PartitionKey": fmt.Sprintf("key-%d-é", i%70)}
		if i%3 == 0 {
			list[i]["ExplicitHashKey"] = fmt.Sprintf("%d", i)
		}
	}
	given, err := json.Marshal(list)
	require.NoError(t, err)
	var out kinesis.PutRecordsOutput
	w.run("Kinesis.PutRecords", fmt.Sprintf(`{"StreamName":%q,"Aggregate":true,"Records":%s}`, w.stream, given), &out)
	require.EqualValues(t, n, out.StoredRecordCount)
	stored := w.read()
	require.Less(t, len(stored), 40, "they were joined")

	var held bytes.Buffer
	for _, r := range stored {
		require.NoError(t, json.NewEncoder(&held).Encode(map[string]any{"Data": r.Data, "PartitionKey": r.PartitionKey}))
	}
	node := exec.CommandContext(t.Context(), "node", "deaggregate.js", filepath.Join(nodeModules(), "aws-kinesis-agg"))
	node.Stdin, node.Stderr = &held, os.Stderr
	read, err := node.Output()
	require.NoError(t, err)

	type record struct {
		Data                          []byte
		PartitionKey, ExplicitHashKey string
	}
	found := map[string]int{}
	lines := bytes.Split(bytes.TrimSpace(read), []byte("\n"))
	require.Len(t, lines, n)
	for _, line := range lines {
		var r record
		require.NoError(t, json.Unmarshal(line, &r))
		found[r.PartitionKey+"\x00"+string(r.Data)]++
		if r.ExplicitHashKey != "" {
			found["hash "+r.ExplicitHashKey]++
		}
	}
	for i, r := range list {
		id := r["PartitionKey"].(string) + "\x00" + string(r["Data"].([]byte))
		require.Positive(t, found[id], "record %d", i)
		found[id]--
		if hash, ok := r["ExplicitHashKey"].(string); ok {
			require.Positive(t, found["hash "+hash], "record %d", i)
		}
	}
}

// nodeModules is where the dev stack has its npm packages.
func nodeModules() string {
	return cmp.Or(os.Getenv("SLUICE_NODE_MODULES"), filepath.Join(harness.Root(), "devstack", "node_modules"))
}
