package schema

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"sluice/internal/wire"
	"sluice/workflows/claimtasks"
	"sluice/workflows/countobjects"
	"sluice/workflows/ingest"
	"sluice/workflows/producer"
	"sluice/workflows/quiescence"
	"sluice/workflows/request"
	"sluice/workflows/resumer"
)

// checks are what the workflows themselves say of their inputs, by workflow type.
var checks = map[string]struct {
	schema string
	check  func(id string, input json.RawMessage) error
}{
	wire.TypeRequest:         {"request", request.CheckInput},
	wire.TypeResumeSuspended: {"resumer", resumer.CheckInput},
	wire.TypeProducer:        {"producer", producer.CheckInput},
	wire.TypeQuiescence:      {"quiescence", quiescence.CheckInput},
	wire.TypeCountObjects:    {"count", countobjects.CheckInput},
	wire.TypeClaimTasks:      {"claim", claimtasks.CheckInput},
	wire.TypeIngest:          {"ingest", ingest.CheckInput},
}

func validate(t *testing.T, schema *jsonschema.Schema, raw []byte) error {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	require.NoError(t, err)
	return schema.Validate(value)
}

// What a workflow has taken as its input the schema takes too.
func TestSchemasTakeTheInputsOfRecordedHistories(t *testing.T) {
	for workflowType, c := range checks {
		histories, err := filepath.Glob(filepath.Join("../../tests/replay/testdata", workflowType, "*.json"))
		require.NoError(t, err)
		schema, taken := compile(t, c.schema), 0
		for _, name := range histories {
			input := firstInput(t, name)
			if c.check("id", input) != nil {
				continue // refused on purpose, or what an earlier run carries
			}
			require.NoErrorf(t, validate(t, schema, input), "%s: %s", name, input)
			taken++
		}
		require.NotZero(t, taken, workflowType)
	}
}

// firstInput is the document that the run of a history was started with.
func firstInput(t *testing.T, name string) json.RawMessage {
	t.Helper()
	raw, err := os.ReadFile(name)
	require.NoError(t, err)
	var history struct {
		Events []struct {
			Started struct {
				Input struct{ Payloads []struct{ Data string } }
			} `json:"workflowExecutionStartedEventAttributes"`
		}
	}
	require.NoError(t, json.Unmarshal(raw, &history))
	payloads := history.Events[0].Started.Input.Payloads
	if len(payloads) == 0 {
		return json.RawMessage("{}")
	}
	input, err := base64.StdEncoding.DecodeString(payloads[0].Data)
	require.NoError(t, err)
	return input
}

var yamlBlocks = regexp.MustCompile("(?s)```yaml\n(jobs:.*?|type:.*?)```")

func TestSchemasTakeTheRequestsOfTheDocs(t *testing.T) {
	page, err := os.ReadFile("../requests.md")
	require.NoError(t, err)
	blocks := yamlBlocks.FindAllSubmatch(page, -1)
	require.NotEmpty(t, blocks)
	for _, block := range blocks {
		var document any
		require.NoError(t, yaml.Unmarshal(block[1], &document))
		raw, err := json.Marshal(document)
		require.NoError(t, err)
		require.NoErrorf(t, validate(t, compile(t, "request"), raw), "%s", raw)
		require.NoError(t, request.CheckInput("id", raw))
	}
}

// What a schema can say is refused by it and by the workflow alike.
func TestSchemasRefuseWhatWorkflowsRefuse(t *testing.T) {
	refused := map[string][]string{
		wire.TypeRequest: {
			`{}`, `{"jobs":[]}`, `{"jobs":[{"id":"a"}]}`, `{"jobs":[{"id":"a","activity":"x","workflow":"y"}]}`, `{"jobs":[{"id":"a b","activity":"x"}]}`,
			`{"jobs":[{"id":"a","activity":"x","priority":9}]}`, `{"jobs":[{"id":"a","activity":"x","timeout":30}]}`, `{"jobs":[{"id":"a","activity":"x","timeout":"soon"}]}`,
			`{"jobs":[{"id":"a","activity":"x","colour":1}]}`, `{"jobs":[{"id":"a","activity":"x","retry":-1}]}`, `{"jobs":[{"id":"a","activity":"x"}],"maxParallelJobs":1001}`,
		},
		wire.TypeProducer:        {`{}`, `{"stream":"s","batchSize":501}`, `{"stream":"s","ordering":"random"}`, `{"stream":"s","flushInterval":1}`},
		wire.TypeQuiescence:      {`{}`, `{"source":{}}`, `{"source":{"s3":{"bucket":"b"},"sqs":{"queueUrl":"https://q/1"}}}`, `{"source":{"s3":{"bucket":"b","onDelete":"cry"}}}`, `{"source":{"s3":{"bucket":"b"}},"delay":{"strategy":"lazy"}}`},
		wire.TypeCountObjects:    {`{}`, `{"queueUrl":"https://q/1"}`, `{"queueUrl":"https://q/1","table":"t","key":"object"}`},
		wire.TypeClaimTasks:      {`{"queues":[{"name":"tasks"}],"capacity":1001}`, `{"queues":[{}]}`, `{"queues":[{"name":"tasks"}],"interval":5}`},
		wire.TypeIngest:          {`{}`, `{"bucket":"b","queue":"q","stream":"s","table":"t"}`, `{"bucket":"b","queue":"q","stream":"s","table":"t","delivery":{"bucket":"d","notifications":"https://q/1"},"format":"xml"}`},
		wire.TypeResumeSuspended: {`{"maxParallel":"ten"}`, `{"lease":5}`, `{"colour":1}`},
	}
	for workflowType, documents := range refused {
		c := checks[workflowType]
		for _, document := range documents {
			require.Errorf(t, c.check("id", json.RawMessage(document)), "%s takes %s", workflowType, document)
			require.Errorf(t, validate(t, compile(t, c.schema), []byte(document)), "the schema %s takes %s", c.schema, document)
		}
	}
}
