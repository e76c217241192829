// Package help adds to the help of the command line: an example for each command,
// and the words that a shell completes.
package help

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Printer prints kong's help with an example behind it.
func Printer(options kong.HelpOptions, ctx *kong.Context) error {
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
		return err
	}
	if example, ok := examples[Path(ctx.Selected())]; ok {
		fmt.Fprintf(ctx.Stdout, "\nExample:\n  starter %s\n", example)
	}
	return nil
}

// Path is the command's words, "request run".
func Path(node *kong.Node) string {
	var words []string
	for ; node != nil && node.Type == kong.CommandNode; node = node.Parent {
		words = append(words, node.Name)
	}
	slices.Reverse(words)
	return strings.Join(words, " ")
}

// Example is how a command is used, without the program's name.
func Example(path string) string { return examples[path] }

var examples = map[string]string{
	"doctor": "doctor ingest/2026-11-30",
	"setup":  "setup",
	"schema": "schema request > request.schema.json",

	"request run":      "request run -f request.yaml --id request/2026-11-30 --wait",
	"request validate": "request validate -f request.yaml",
	"request suspend":  "request suspend request/2026-11-30 --reason deployment --ttl 4h",
	"request resume":   "request resume request/2026-11-30",
	"request stop":     "request stop request/2026-11-30 --reason 'no longer needed'",
	"request claim":    "request claim request/2026-11-30 --holder me --lease 10m",
	"request unclaim":  "request unclaim request/2026-11-30 --holder me --token 7",
	"request status":   "request status request/2026-11-30",
	"request list":     "request list --state ALIVE --type report -o table",
	"request log":      "request log request/2026-11-30 --job load",
	"request export":   "request export request/2026-11-30 > request.json",
	"request rerun":    "request rerun request/2026-11-30 --skip notify --wait",

	"resumer start":  "resumer start --every 1m",
	"resumer status": "resumer status",
	"resumer remove": "resumer remove",
	"resumer once":   "resumer once --max-parallel 20",

	"dynamodb":            `dynamodb put-item --wait --cli-input-json '{"TableName":"orders","Item":{"id":{"S":"1"}}}'`,
	"kinesis put-records": "kinesis put-records --wait -f records.json",
	"kinesis put-object":  "kinesis put-object --wait -f object.json",

	"producer run":    "producer run events --flush-interval 2s",
	"producer add":    "producer add events --data hello --partition-key a",
	"producer flush":  "producer flush events --answer-within 1m",
	"producer start":  "producer start events",
	"producer stop":   "producer stop events",
	"producer status": "producer status events",
	"producer events": "producer events events",

	"throughput list":    "throughput list -o table",
	"throughput status":  "throughput status dynamodb/eu-west-1/orders/read",
	"throughput set":     "throughput set dynamodb/eu-west-1/orders/write --units-per-second 500",
	"throughput pause":   "throughput pause --all --reason maintenance --for 10m",
	"throughput unpause": "throughput unpause --all",

	"quiescence run":    "quiescence run --bucket landing --repeats 3 --delay 10s --wait",
	"quiescence tune":   "quiescence tune quiescence/landing --repeats 5",
	"quiescence finish": "quiescence finish quiescence/landing --reason 'all is there'",
	"quiescence stop":   "quiescence stop quiescence/landing",
	"quiescence status": "quiescence status quiescence/landing",

	"count run":    "count run --queue-url https://sqs.eu-west-1.amazonaws.com/1/landed --table counts",
	"count stop":   "count stop count/landed",
	"count drain":  "count drain count/landed --wait 1m",
	"count status": "count status count/landed",

	"claim run":           "claim run tasks --queue urgent,tasks --capacity 20",
	"claim enqueue":       "claim enqueue tasks --create --task-id a1 --payload '{\"jobs\":[{\"id\":\"list\",\"activity\":\"S3.List\",\"input\":{\"bucket\":\"b\"}}]}'",
	"claim capacity":      "claim capacity tasks 5",
	"claim drain":         "claim drain tasks --wait 1m",
	"claim stop":          "claim stop tasks --reason deployment",
	"claim status":        "claim status tasks",
	"claim poison list":   "claim poison list tasks",
	"claim poison replay": "claim poison replay tasks --all",
	"claim poison drop":   "claim poison drop tasks --all",

	"ingest run":    "ingest run -f ingest.yaml --wait",
	"ingest status": "ingest status ingest/2026-11-30",

	"history export": "history export request/2026-11-30 -o history.json",
	"codec-server":   "codec-server --origins https://temporal.example",
	"completion":     "completion bash > /etc/bash_completion.d/starter",
}
