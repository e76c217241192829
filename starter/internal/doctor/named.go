// Package doctor looks at what Sluice needs of Temporal, and at what a workflow's
// document names of the outside world.
package doctor

import (
	"encoding/json"
	"slices"

	"sluice/internal/wire"
)

// mostNamed is how many things of a kind are looked at.
const mostNamed = 10

// Named adds to in what a document names: tables, streams, buckets and queues, by
// the names that our documents and AWS's have for them, at any depth.
func Named(in *wire.DoctorInput, document json.RawMessage) {
	var value any
	if json.Unmarshal(document, &value) == nil {
		named(in, "", value)
	}
}

func named(in *wire.DoctorInput, field string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			named(in, name, member)
		}
	case []any:
		for _, element := range v {
			if m, ok := element.(map[string]any); ok && field == "queues" && m["name"] != nil {
				named(in, "queue", m["name"])
				continue
			}
			named(in, "", element)
		}
	case string:
		if list := listOf(in, field); list != nil {
			add(list, v)
		}
	}
}

func listOf(in *wire.DoctorInput, field string) *[]string {
	switch field {
	case "table", "TableName":
		return &in.Tables
	case "stream", "StreamName":
		return &in.Streams
	case "bucket", "Bucket":
		return &in.Buckets
	case "queueUrl", "notifications":
		return &in.QueueURLs
	case "queue":
		return &in.AzureQueues
	default:
		return nil
	}
}

func add(list *[]string, name string) {
	if name != "" && len(*list) < mostNamed && !slices.Contains(*list, name) {
		*list = append(*list, name)
		slices.Sort(*list)
	}
}
