package countobjects

import (
	"encoding/json"
	"strings"

	"sluice/internal/document"
	"sluice/internal/limits"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// Ways to tell which counter an object belongs to.
const (
	byBucket = "bucket"
	byPrefix = "prefix"
)

// Input starts a monitor.
type Input struct {
	QueueURL    string `json:"queueUrl" doc:"required"`
	Table       string `json:"table" doc:"required"` // string hash key `id`
	Key         string `json:"key"`
	PrefixDepth int    `json:"prefixDepth"` // elements of the key that make the prefix
}

func defaultInput() Input { return Input{Key: byBucket, PrefixDepth: 1} }

// CheckInput tells what is wrong with the input of a new run of that ID, as the run
// would.
func CheckInput(id string, raw json.RawMessage) error {
	in := defaultInput()
	return shell.CheckInput(wire.TypeCountObjects, id, raw, &in)
}

// Check adds what is wrong with the values.
func (in *Input) Check(faults *document.Faults) {
	if in.QueueURL != "" && !strings.Contains(in.QueueURL, "://") {
		faults.Add("queueUrl", "%q is no URL of a queue", in.QueueURL)
	}
	if in.QueueURL == "" && !faults.Has("queueUrl") {
		faults.Add("queueUrl", "empty")
	}
	limits.CheckAttribute(faults, "queueUrl", wire.QueueName(in.QueueURL))
	if in.Table == "" && !faults.Has("table") {
		faults.Add("table", "empty")
	}
	if in.Key != byBucket && in.Key != byPrefix {
		faults.Add("key", "%q is neither %q nor %q", in.Key, byBucket, byPrefix)
	}
	if in.PrefixDepth < 1 || in.PrefixDepth > 100 {
		faults.Add("prefixDepth", "%d is not within 1 and 100", in.PrefixDepth)
	}
}

func (in *Input) depth() int {
	if in.Key == byPrefix {
		return in.PrefixDepth
	}
	return 0
}
