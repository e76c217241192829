package sluice

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/activities/azurequeue"
	"sluice/activities/http"
	"sluice/activities/kinesis"
	"sluice/activities/s3"
	"sluice/activities/sqs"
	"sluice/internal/jobchain"
	"sluice/workflows"
	"sluice/workflows/claimtasks"
	"sluice/workflows/countobjects"
	"sluice/workflows/ingest"
	"sluice/workflows/producer"
	"sluice/workflows/quiescence"
	"sluice/workflows/request"
	"sluice/workflows/resumer"
)

// A document for outsiders and the one that the code decodes have the same fields, at
// every depth: neither can get one that the other lacks.
func TestDocumentsForOutsidersHaveTheFieldsThatAreDecoded(t *testing.T) {
	for _, pair := range [][2]any{
		{workflows.RequestInput{}, jobchain.Document{}},
		{workflows.SuspendMessage{}, jobchain.SuspendMessage{}},
		{workflows.ResumeMessage{}, jobchain.ResumeMessage{}},
		{workflows.StopMessage{}, jobchain.StopMessage{}},
		{workflows.ClaimMessage{}, jobchain.ClaimMessage{}},
		{workflows.UnclaimMessage{}, jobchain.UnclaimMessage{}},
		{workflows.ResumeSuspendedInput{}, resumer.Input{}},
		{workflows.ProducerInput{}, producer.Input{}},
		{workflows.QuiescenceInput{}, quiescence.Input{}},
		{workflows.CountObjectsInput{}, countobjects.Input{}},
		{workflows.ClaimTasksInput{}, claimtasks.Input{}},
		{workflows.IngestInput{}, ingest.Input{}},
		{workflows.PutRecordsInput{}, kinesis.PutRecordsInput{}},
		{workflows.PutObjectInput{}, kinesis.PutObjectInput{}},
		{workflows.PutOutput{}, kinesis.PutRecordsOutput{}},
		{workflows.DescribedObject{}, s3.Description{}},
		{workflows.ListedObjects{}, s3.Listing{}},
		{workflows.SendSQSInput{}, sqs.SendInput{}},
		{workflows.SendAzureQueueInput{}, azurequeue.SendInput{}},
		{workflows.CallHTTPInput{}, http.CallInput{}},
		{workflows.HTTPAnswer{}, http.CallOutput{}},
	} {
		outside, inside := reflect.TypeOf(pair[0]), reflect.TypeOf(pair[1])
		t.Run(outside.Name(), func(t *testing.T) {
			require.Equal(t, fields(inside), shallowerOf(fields(outside), fields(inside)))
		})
	}
}

// fields are the JSON paths of a document.
func fields(t reflect.Type) map[string]bool {
	all := map[string]bool{}
	addFields(all, "", t)
	return all
}

func addFields(all map[string]bool, path string, t reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			addFields(all, path, f.Type)
		case f.IsExported() && name != "" && name != "-":
			all[path+name] = true
			addFields(all, path+name+".", f.Type)
		}
	}
}

// shallowerOf leaves out what lies below a field that the other reads as raw JSON.
func shallowerOf(outside, inside map[string]bool) map[string]bool {
	below := map[string]bool{}
	for path := range outside {
		parent, _, nested := cutLast(path)
		deeper := false
		for p := range inside {
			deeper = deeper || strings.HasPrefix(p, parent+".")
		}
		if !nested || deeper {
			below[path] = true
		}
	}
	return below
}

func cutLast(path string) (parent, last string, ok bool) {
	i := strings.LastIndexByte(path, '.')
	if i < 0 {
		return "", path, false
	}
	return path[:i], path[i+1:], true
}

// The zero value of every field is its default: what is required alone is accepted,
// and encodes to nothing else.
func TestZeroValuesOfDocumentsAreTheDefaults(t *testing.T) {
	for name, check := range map[string]struct {
		input any
		as    string
		check func(id string, raw json.RawMessage) error
	}{
		"Request": {
			workflows.RequestInput{Jobs: []workflows.Job{{ID: "load", Activity: "Load"}}},
			`{"jobs":[{"id":"load","activity":"Load"}]}`, request.CheckInput,
		},
		"ResumeSuspended": {workflows.ResumeSuspendedInput{}, `{}`, resumer.CheckInput},
		"Producer":        {workflows.ProducerInput{Stream: "events"}, `{"stream":"events"}`, producer.CheckInput},
		"Quiescence": {
			workflows.QuiescenceInput{Source: workflows.Source{S3: &workflows.S3Source{Bucket: "landing"}}},
			`{"source":{"s3":{"bucket":"landing"}}}`, quiescence.CheckInput,
		},
		"CountObjects": {
			workflows.CountObjectsInput{QueueURL: "https://sqs.eu-west-1.amazonaws.com/1/events", Table: "counts"},
			`{"queueUrl":"https://sqs.eu-west-1.amazonaws.com/1/events","table":"counts"}`, countobjects.CheckInput,
		},
		"ClaimTasks": {workflows.ClaimTasksInput{Queues: []workflows.Queue{{Name: "loads"}}}, `{"queues":[{"name":"loads"}]}`, claimtasks.CheckInput},
		"Ingest": {
			workflows.IngestInput{
				Bucket: "source", Queue: "loads", Stream: "events", Table: "progress",
				Delivery: workflows.IngestDelivery{Bucket: "landing", Notifications: "https://sqs.eu-west-1.amazonaws.com/1/events"},
			},
			`{"bucket":"source","queue":"loads","stream":"events","table":"progress",` +
				`"delivery":{"bucket":"landing","notifications":"https://sqs.eu-west-1.amazonaws.com/1/events"}}`,
			ingest.CheckInput,
		},
	} {
		t.Run(name, func(t *testing.T) {
			raw, err := json.Marshal(check.input)
			require.NoError(t, err)
			require.JSONEq(t, check.as, string(raw))
			require.NoError(t, check.check("id", raw))
		})
	}
	for _, message := range []any{
		workflows.SuspendMessage{}, workflows.ResumeMessage{}, workflows.StopMessage{}, workflows.TuneMessage{}, workflows.FinishMessage{},
		workflows.DrainMessage{}, workflows.FlushMessage{}, workflows.PauseMessage{}, workflows.Page{}, workflows.LogPage{}, workflows.None{},
	} {
		raw, err := json.Marshal(message)
		require.NoError(t, err)
		require.Equal(t, "{}", string(raw), "%T", message)
	}
}
