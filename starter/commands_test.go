package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Arguments make a document and a message; the temporal command that is shown has
// both.
func TestArgumentsMakeDocuments(t *testing.T) {
	summaries := map[string]string{
		"r": "%s: 1 job", "producer/events": "Durable buffer in front of the stream events", "q": "Waits until %s is quiet",
		"count/landed": "Counts what http://h/1/landed announces", "claim/tasks": "Claims tasks as tasks", "claim/mine": "Claims tasks as mine",
		"s": "Resumes suspended requests", "k": "%s: 1 job",
	}
	start := func(kind, id, input string, named ...any) string {
		return "temporal workflow start --type " + kind + " --task-queue sluice --workflow-id " + id +
			" --static-summary '" + fmt.Sprintf(summaries[id], named...) + "' --input '" + input + "'"
	}
	update := func(id, name, input string) string {
		return "temporal workflow update execute --workflow-id " + id + " --name " + name + " --input '" + input + "'"
	}
	query := func(id, name string) string {
		return "temporal workflow query --workflow-id " + id + " --type " + name
	}
	const jobs = `{"jobs":[{"id":"a","activity":"x"}]}`
	for args, c := range map[string]struct{ stdin, want string }{
		"request run --id r -f -":                                   {jobs, start("Request", "r", jobs, "Request")},
		"request run --id r -f - --type t --deadline 1h":            {jobs, start("Request", "r", `{"deadline":"1h","jobs":[{"id":"a","activity":"x"}],"type":"t"}`, "t")},
		"request run --id r -f - --args {\"n\":1}":                  {jobs, start("Request", "r", `{"args":{"n":1},"jobs":[{"id":"a","activity":"x"}]}`, "Request")},
		"request suspend r --ttl 4h":                                {"", update("r", "suspend", `{"ttl":"4h"}`)},
		"request suspend r":                                         {"", update("r", "suspend", `{}`)},
		"request resume r --holder me --token 7":                    {"", update("r", "resume", `{"holder":"me","token":7}`)},
		"request stop r --reason x":                                 {"", update("r", "stop", `{"reason":"x"}`)},
		"request claim r --holder me --lease 1m":                    {"", update("r", "claim", `{"holder":"me","lease":"1m"}`)},
		"request unclaim r --force":                                 {"", update("r", "unclaim", `{"force":true}`)},
		"request export r":                                          {"", query("r", "export")},
		"request status r":                                          {"", query("r", "status") + ` --input '{"limit":500,"offset":0}'`},
		"producer run events --batch-size 10":                       {"", start("Producer", "producer/events", `{"batchSize":10,"stream":"events"}`)},
		"producer run producer/events":                              {"", start("Producer", "producer/events", `{"stream":"events"}`)},
		"producer add events --data x --partition-key k":            {"", update("producer/events", "add", `{"records":[{"Data":"eA==","PartitionKey":"k"}]}`)},
		"producer flush events --stop":                              {"", update("producer/events", "flush", `{"stop":true}`)},
		"producer stop events":                                      {"", update("producer/events", "stop", `{}`)},
		"producer events events":                                    {"", query("producer/events", "events")},
		"quiescence run --id q --bucket b --delay 5s --repeats 3":   {"", start("Quiescence", "q", `{"delay":{"base":"5s"},"repeats":3,"source":{"s3":{"bucket":"b","prefix":""}}}`, "b")},
		"quiescence run --id q --table t --counter c":               {"", start("Quiescence", "q", `{"source":{"dynamodb":{"key":{"id":{"S":"c"}},"table":"t"}}}`, "t")},
		"quiescence tune q --quiet-for 1m":                          {"", update("q", "tune", `{"quietFor":"1m"}`)},
		"quiescence finish q --reason x":                            {"", update("q", "finish", `{"reason":"x"}`)},
		"count run --queue-url http://h/1/landed --table t":         {"", start("CountObjects", "count/landed", `{"queueUrl":"http://h/1/landed","table":"t"}`)},
		"count drain count/landed --wait 1m":                        {"", update("count/landed", "drain", `{"wait":"1m"}`)},
		"claim run --queue tasks --capacity 5":                      {"", start("ClaimTasks", "claim/tasks", `{"capacity":5,"queues":[{"name":"tasks"}]}`)},
		"claim run mine --queue urgent,tasks --run-task-queue q":    {"", start("ClaimTasks", "claim/mine", `{"queues":[{"name":"urgent"},{"name":"tasks"}],"run":{"taskQueue":"q"}}`)},
		"claim capacity claim/mine 3":                               {"", update("claim/mine", "capacity", `{"capacity":3}`)},
		"claim drain mine":                                          {"", update("claim/mine", "drain", `{"wait":"30s"}`)},
		"ingest status ingest/1":                                    {"", query("ingest/1", "status")},
		"throughput status dynamodb/r/t/read":                       {"", query("throughput/dynamodb/r/t/read", "status")},
		"throughput status throughput/dynamodb/r/t/read":            {"", query("throughput/dynamodb/r/t/read", "status")},
		"resumer once --id s --max-parallel 2":                      {"", start("ResumeSuspended", "s", `{"maxParallel":2}`)},
		"kinesis put-records --id k -f - --priority 1 --timeout 1m": {`{"StreamName":"s","Records":[]}`, start("Request", "k", `{"jobs":[{"activity":"Kinesis.PutRecords","heartbeat":"15s","id":"call","input":{"$literal":{"StreamName":"s","Records":[]}},"priority":1,"timeout":"1m"}],"type":"Kinesis.PutRecords"}`, "Kinesis.PutRecords")},
	} {
		t.Run(args, func(t *testing.T) {
			status, stdout, stderr := call(t, c.stdin, append([]string{"--dry-run"}, strings.Fields(args)...)...)
			require.Equal(t, exitDone, status, stderr)
			require.Empty(t, stdout)
			require.Equal(t, plain(c.want), plain(strings.TrimSpace(stderr)))
		})
	}
}

// plain takes the quotes away that a shell needs for some documents only.
func plain(command string) string { return strings.ReplaceAll(command, "'", "") }
