package main

import (
	"strings"

	"sluice/internal/throughput"
	"sluice/internal/wire"
)

// dynamodbCmd runs one operation as a request of one job.
type dynamodbCmd struct {
	Operation string `arg:"" help:"The operation, as the aws command (put-item) or the API (PutItem) spells it."`
	oneJobFlags
}

func (d dynamodbCmd) Run(a *app) error {
	operation, ok := operationNamed(d.Operation)
	if !ok {
		return usage("no operation %q; there are %s", d.Operation, strings.Join(operationNames(), ", "))
	}
	return a.runOneJob(wire.DynamoDBPrefix+operation, d.oneJobFlags, requestProgress)
}

// operationNamed finds the API's name for either spelling.
func operationNamed(name string) (string, bool) {
	plain := strings.ToLower(strings.ReplaceAll(name, "-", ""))
	for _, op := range throughput.Operations() {
		if strings.ToLower(op.Name) == plain {
			return op.Name, true
		}
	}
	return "", false
}

// operationNames are the operations as the aws command spells them.
func operationNames() (names []string) {
	for _, op := range throughput.Operations() {
		var b strings.Builder
		for i, r := range op.Name {
			if i > 0 && r >= 'A' && r <= 'Z' {
				b.WriteByte('-')
			}
			b.WriteRune(r)
		}
		names = append(names, strings.ToLower(b.String()))
	}
	return names
}
