package wire

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/internal/document"
	"sluice/internal/duration"
	"sluice/internal/taskclaim"
)

func TestIDsThatOutsidersRelyOn(t *testing.T) {
	for want, got := range map[string]string{
		"task/t/0":                           TaskID("t", 0),
		"task/t/0/run":                       TaskRunID(TaskID("t", 0)),
		"throughput/dynamodb/eu/orders/read": ThroughputID("dynamodb/eu/orders/read"),
		"producer/events":                    ProducerID("events"),
		"count/n":                            CountID("https://sqs.eu-west-1.amazonaws.com/1/n"),
		"count/plain":                        CountID("plain"),
		"claim/c":                            ClaimID("c"),
		"r/job/2":                            ChildID("r", "job", "2"),
		"w/poll":                             PollID("w"),
		"i/quiescence/3":                     IngestWatchID("i", 3),
		"w/2":                                GenerationID("w", 2),
		"q-azure":                            AzureTaskQueue("q"),
		"sluice-throughput":                  ThroughputQueue(""),
		"sluice-throughput-s":                ThroughputQueue("s"),
	} {
		require.Equal(t, want, got)
	}
	require.Equal(t, "task/a/7", StartedTask{TaskID: "a", RunID: 7}.ID())
}

func TestTwinsTakeIDsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-zA-Z0-9_./-]{0,20}`).Draw(t, "name")
		resource, ok := ThroughputResource(ThroughputID(name))
		require.True(t, ok)
		require.Equal(t, name, resource)
		stream, ok := ProducerStream(ProducerID(name))
		require.True(t, ok)
		require.Equal(t, name, stream)
		job := rapid.StringMatching(`[a-zA-Z0-9_.-]{1,10}`).Draw(t, "job")
		gotJob, try, ok := ChildOf(name, ChildID(name, job, "12"))
		require.True(t, ok)
		require.Equal(t, job, gotJob)
		require.Equal(t, 12, try)
	})
}

func TestChildOfRefusesWhatIsNoTryOfAJob(t *testing.T) {
	for _, id := range []string{"", "r", "r/", "r/job", "r/job/", "r/job/0", "r/job/-1", "r/job/x", "r/job/1/2", "r//1", "rr/job/1", "other/job/1"} {
		_, _, ok := ChildOf("r", id)
		require.False(t, ok, id)
	}
	_, ok := ThroughputResource("producer/x")
	require.False(t, ok)
	_, ok = ProducerStream("x")
	require.False(t, ok)
}

func TestOwnJobsAreSluicesActivitiesOnly(t *testing.T) {
	for _, name := range []string{"DynamoDB.Query", "DynamoDB.AwaitActive", KinesisPutRecords, KinesisPutObject, S3Describe, S3List, SQSSend, AzureQueueSend, HTTPCall} {
		require.True(t, OwnJob(name), name)
	}
	for _, name := range []string{"", "DynamoDB", "dynamodb.Query", "HTTP.Calls", "SQS.send", "mine", PutBatch.Name} {
		require.False(t, OwnJob(name), name)
	}
}

func TestCredentialsAreNamedByWhatCanEndAVariable(t *testing.T) {
	for _, name := range []string{"", "deploy", "A_1", strings.Repeat("a", 100)} {
		require.NoError(t, CheckAuth(name), name)
	}
	for _, name := range []string{"a-b", "a b", "a\n", "ä", "A=B", strings.Repeat("a", 101)} {
		require.ErrorContains(t, CheckAuth(name), "SLUICE_HTTP_AUTH_", name)
	}
}

// What a poller remembers is told once: tasks that surely started as started, the
// others are carried; a report that tells nothing of tasks spends its credit.
func TestTheReportOfAPollersMemory(t *testing.T) {
	credit := taskclaim.Credit{Events: 5}
	sure := OpenTask{StartedTask: StartedTask{TaskID: "sure"}, Sure: true}
	unsure := OpenTask{StartedTask: StartedTask{TaskID: "unsure"}, Since: time.Unix(1, 0)}
	memory := PollMemory{
		Tasks: []OpenTask{unsure, sure}, Lost: []LostTask{{TaskID: "lost"}}, Poisoned: 2, Excused: 3, Queues: []QueueState{{Name: "q"}},
		Carry: PollCarry{Owed: []OwedDelete{{Queue: "q", MessageID: "m"}}, Place: []byte("p"), Credit: credit},
	}
	report := memory.Report()
	require.Equal(t, []StartedTask{sure.StartedTask}, report.Started)
	require.Equal(t, []OpenTask{unsure}, report.Carry.Unsure)
	require.Equal(t, memory.Lost, report.Lost)
	require.EqualValues(t, 2, report.Poisoned)
	require.EqualValues(t, 3, report.Excused)
	require.Equal(t, memory.Queues, report.Queues)
	require.Equal(t, memory.Carry.Owed, report.Carry.Owed)
	require.Equal(t, memory.Carry.Place, report.Carry.Place)
	require.Empty(t, memory.Carry.Unsure, "the memory stays as it was")
	require.Equal(t, report, memory.Report(), "a memory is read again after a lost answer")
	require.Equal(t, credit, report.Carry.Credit)

	idle := PollMemory{Tasks: []OpenTask{unsure}, Carry: PollCarry{Credit: credit}}
	require.Equal(t, credit.Spend(), idle.Report().Carry.Credit)
}

func TestAClaimSpecIsUsedWithAService(t *testing.T) {
	require.False(t, ClaimSpec{WorkerGroup: "g"}.Used())
	require.True(t, ClaimSpec{Service: "https://s"}.Used())
}

func TestSignedURLsAreRenewedFiveMinutesAheadByDefault(t *testing.T) {
	var in PollSpec
	faults := document.Decode([]byte(`{"signedUrls":{"service":"s","provisionerId":"p"}}`), &in)
	require.EqualError(t, faults.Err(), "signedUrls.workerType: required")
	require.Equal(t, duration.Duration(5*time.Minute), in.SignedURLs.RefreshBefore)
}

// checkSource decodes and checks a source as a watch does.
func checkSource(raw string) (Source, error) {
	var in struct {
		Source Source `json:"source"`
	}
	faults := document.Decode([]byte(`{"source":`+raw+`}`), &in)
	in.Source.Check(&faults, "source")
	return in.Source, faults.Err()
}

func TestASourceIsOneOfItsKindsWithItsDefaults(t *testing.T) {
	for raw, target := range map[string]string{
		`{"dynamodb":{"table":"t","key":{"id":{"S":"x"}}}}`: "t",
		`{"s3":{"bucket":"b"}}`:                             "b",
		`{"sqs":{"queueUrl":"https://h/1/q"}}`:              "q",
		`{"activity":{"name":"Poll"}}`:                      "Poll",
		`{"signal":{}}`:                                     "signal",
	} {
		source, err := checkSource(raw)
		require.NoError(t, err, raw)
		require.Equal(t, target, source.Target())
	}
	source, err := checkSource(`{"s3":{"bucket":"b"}}`)
	require.NoError(t, err)
	require.Equal(t, &S3Source{Bucket: "b", IgnoreEmpty: true, OnDelete: OnDeleteReset}, source.S3)
	source, err = checkSource(`{"dynamodb":{"table":"t","key":{"id":{"S":"x"}}}}`)
	require.NoError(t, err)
	require.Equal(t, "num_records", source.DynamoDB.Attribute)
	require.Empty(t, Source{}.Target())
}

func TestFaultsOfASourceAreAllToldOnce(t *testing.T) {
	for raw, want := range map[string]string{
		`{}`:                    "source: exactly one of dynamodb, s3, sqs, activity, signal, not 0 of them",
		`{"S3":{"bucket":"b"}}`: `source.S3: unknown field; write "s3"`,
		`{"s3":{"bucket":"","onDelete":"keep"},"signal":{}}`: `source: exactly one of dynamodb, s3, sqs, activity, signal, not 2 of them; source.s3.bucket: empty; source.s3.onDelete: "keep" is none of "reset", "ignore", "fail"`,
		`{"dynamodb":{"table":"","key":{},"attribute":""}}`:  `source.dynamodb.table: empty; source.dynamodb.key: not a key as DynamoDB has it, such as {"id":{"S":"x"}}; source.dynamodb.attribute: empty`,
		`{"dynamodb":{"table":"t","key":{"id":"x"}}}`:        `source.dynamodb.key: not a key as DynamoDB has it, such as {"id":{"S":"x"}}`,
		`{"dynamodb":{}}`:          "source.dynamodb.table: required; source.dynamodb.key: required",
		`{"sqs":{"queueUrl":""}}`:  "source.sqs.queueUrl: empty",
		`{"activity":{"name":""}}`: "source.activity.name: empty",
	} {
		_, err := checkSource(raw)
		require.EqualError(t, err, want, raw)
	}
	_, err := checkSource(`{"activity":{"name":"` + strings.Repeat("n", 5000) + `"}}`)
	require.ErrorContains(t, err, "source.activity.name: ")
	_, err = checkSource(`{"s3":{"bucket":"` + strings.Repeat("b", 5000) + `"}}`)
	require.ErrorContains(t, err, "source.s3: ")
}

// Documents that cross between a workflow and its activities are carried whole.
func TestDocumentsAreReadAsTheyAreWritten(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	memory := PollMemory{
		Tasks: []OpenTask{{StartedTask: StartedTask{TaskID: "t", RunID: 1, StartedAt: at, TakenUntil: at}, Sure: true, Since: at}},
		Lost:  []LostTask{{TaskID: "l", RunID: 2, Status: "Terminated"}}, Poisoned: 1, Excused: 2,
		Carry: PollCarry{Copied: []RememberedID{{ID: "m", N: 3}}, Spacing: duration.Duration(time.Minute), Place: []byte{0, 255}, Credit: taskclaim.Credit{Events: 4, At: at}},
	}
	raw, err := json.Marshal(memory)
	require.NoError(t, err)
	var back PollMemory
	require.NoError(t, json.Unmarshal(raw, &back))
	require.Equal(t, memory, back)

	finished := FinishedTasks{Tasks: []FinishedTask{{TaskID: "t", Outcome: Outcome{State: OutcomeException, Reason: ReasonClaimExpired}}}}
	raw, err = json.Marshal(finished)
	require.NoError(t, err)
	require.JSONEq(t, `{"tasks":[{"taskId":"t","runId":0,"firstRunId":"","state":"exception","reason":"claim-expired"}]}`, string(raw))
	var got FinishedTasks
	require.NoError(t, document.Decode(raw, &got).Err(), "the strict reader knows all its fields")
	require.Equal(t, finished, got)
}
