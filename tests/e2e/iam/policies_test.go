package iam_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/tests/harness"
)

var update = flag.Bool("update", false, "write ops/iam anew from what was called")

// A policy is an IAM policy document.
type policy struct {
	Version   string
	Statement []statement
}

type statement struct {
	Effect    string
	Action    []string
	Resource  []string
	Condition map[string]map[string][]string `json:",omitempty"`
}

// A place is where a job works: a table, a stream, a queue, a bucket or a prefix of it,
// that no other job of the test works on. The policy names it by a word in its place.
type place struct{ policy, service, name, word string }

// allowed sorts what was called by the jobs whose places it concerns. What concerns none
// is in the answer under "".
func allowed(called []harness.Action, places []place) map[string]policy {
	actions := map[string]map[string][]string{} // policy → resource → actions
	for _, one := range called {
		name, resource := whose(one, places)
		if actions[name] == nil {
			actions[name] = map[string][]string{}
		}
		if !slices.Contains(actions[name][resource], one.Action) {
			actions[name][resource] = append(actions[name][resource], one.Action)
		}
	}
	policies := map[string]policy{}
	for name, byResource := range actions {
		p := policy{Version: "2012-10-17"}
		for _, resource := range slices.Sorted(maps.Keys(byResource)) {
			p.Statement = append(p.Statement, statement{Effect: "Allow", Action: slices.Sorted(slices.Values(byResource[resource])), Resource: []string{resource}})
		}
		policies[name] = p
	}
	return policies
}

// whose finds the place that a resource is, or is in: the longest of those that fit.
func whose(a harness.Action, places []place) (policy, resource string) {
	if a.Action == "dynamodb:ListTables" { // has no resource
		return "DynamoDB.ListTables", "*"
	}
	start := strings.LastIndex(a.Resource, ":") + 1
	kind, name := "", a.Resource[start:]
	for _, k := range []string{"table/", "stream/"} {
		if rest, ok := strings.CutPrefix(name, k); ok {
			kind, name = k, rest
		}
	}
	var best place
	for _, p := range places {
		if strings.HasPrefix(a.Action, p.service+":") && (name == p.name || strings.HasPrefix(name, strings.TrimSuffix(p.name, "/")+"/")) && len(p.name) > len(best.name) {
			best = p
		}
	}
	if best.policy == "" {
		return "", a.Action + " " + a.Resource
	}
	word := best.word
	if rest := strings.TrimPrefix(name, strings.TrimSuffix(best.name, "/")); rest != "" {
		word += "/*"
		if strings.HasPrefix(rest, "/index/") {
			word = best.word + "/index/INDEX"
		}
	}
	return best.policy, a.Resource[:start] + kind + word
}

// compare holds the policies of ops/iam to what was called: they allow that and nothing
// else.
func compare(t *testing.T, called map[string]policy) {
	t.Helper()
	require.NotContains(t, called, "", "no job of the test works there")
	dir := filepath.Join(harness.Root(), "ops", "iam")
	if *update {
		for name, p := range called {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name+".json"), encode(t, p), 0o644))
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	require.NoError(t, err)
	written := map[string]bool{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if written[name] = true; name == keys {
			continue
		}
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		if p, ok := called[name]; !ok {
			t.Errorf("ops/iam/%s.json is of no job that ran", name)
		} else if want := string(encode(t, p)); want != string(raw) {
			t.Errorf("ops/iam/%s.json allows something else than what was called:\n%s", name, want)
		}
	}
	for name := range called {
		if !written[name] {
			t.Errorf("ops/iam/%s.json is missing: go test ./tests/e2e/iam -update", name)
		}
	}
}

func encode(t *testing.T, p policy) []byte {
	t.Helper()
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetIndent("", "  ")
	require.NoError(t, encoder.Encode(p))
	return b.Bytes()
}

// keys is the policy of what services ask of KMS on behalf of their caller, where tables,
// streams, buckets and queues are encrypted by a key of one's own. No emulator asks.
const keys = "KMS"

// What each service asks of a key before it does what the caller is allowed to.
func askedOfKey() map[string][]string {
	return map[string][]string{
		"s3:GetObject": {"kms:Decrypt"}, "s3:PutObject": {"kms:GenerateDataKey", "kms:Decrypt"},
		"sqs:ReceiveMessage": {"kms:Decrypt"}, "sqs:SendMessage": {"kms:GenerateDataKey", "kms:Decrypt"},
		"kinesis:PutRecords": {"kms:GenerateDataKey"},
		"dynamodb:GetItem":   {"kms:Decrypt"}, "dynamodb:BatchGetItem": {"kms:Decrypt"}, "dynamodb:Query": {"kms:Decrypt"}, "dynamodb:Scan": {"kms:Decrypt"},
		"dynamodb:PutItem": {"kms:Decrypt"}, "dynamodb:UpdateItem": {"kms:Decrypt"}, "dynamodb:DeleteItem": {"kms:Decrypt"},
		"dynamodb:BatchWriteItem": {"kms:Decrypt"}, "dynamodb:ConditionCheckItem": {"kms:Decrypt"},
	}
}

// compareKeys holds ops/iam/KMS.json to what the services ask of keys for all that the
// other policies allow, and only by way of these services.
func compareKeys(t *testing.T, called map[string]policy) {
	t.Helper()
	asked := map[string]map[string]bool{}
	table := askedOfKey()
	for _, p := range called {
		for _, s := range p.Statement {
			for _, action := range s.Action {
				service, _, _ := strings.Cut(action, ":")
				for _, one := range table[action] {
					if asked[service] == nil {
						asked[service] = map[string]bool{}
					}
					asked[service][one] = true
				}
			}
		}
	}
	want := policy{Version: "2012-10-17"}
	for _, service := range slices.Sorted(maps.Keys(asked)) {
		want.Statement = append(want.Statement, statement{
			Effect: "Allow", Action: slices.Sorted(maps.Keys(asked[service])), Resource: []string{"arn:aws:kms:REGION:ACCOUNT:key/KEY"},
			Condition: map[string]map[string][]string{"StringEquals": {"kms:ViaService": {service + ".REGION.amazonaws.com"}}},
		})
	}
	file := filepath.Join(harness.Root(), "ops", "iam", keys+".json")
	if *update {
		require.NoError(t, os.WriteFile(file, encode(t, want), 0o644))
	}
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(encode(t, want)), string(raw))
}
