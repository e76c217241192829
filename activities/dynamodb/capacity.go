package dynamodb

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"sluice/activities"
	"sluice/internal/throughput"
	"sluice/internal/wire"
)

// described is what matters of DescribeTable's answer.
type described struct {
	Table struct {
		provisioned
		BillingModeSummary     struct{ BillingMode string }
		GlobalSecondaryIndexes []struct {
			provisioned
			IndexName string
		}
	}
}

type provisioned struct {
	ProvisionedThroughput struct{ ReadCapacityUnits, WriteCapacityUnits float64 }
	OnDemandThroughput    struct{ MaxReadRequestUnits, MaxWriteRequestUnits float64 }
}

func (p provisioned) of(d throughput.Direction) throughput.Milli {
	fixed, most := p.ProvisionedThroughput.ReadCapacityUnits, p.OnDemandThroughput.MaxReadRequestUnits
	if d == throughput.Write {
		fixed, most = p.ProvisionedThroughput.WriteCapacityUnits, p.OnDemandThroughput.MaxWriteRequestUnits
	}
	return throughput.Units(max(fixed, most))
}

// lookUpWithin is less than the heartbeat timeout of the activity, which has no
// heartbeats.
const lookUpWithin = 12 * time.Second

// describeCapacity asks the service, one question a budget and half minute, without
// a lease of the control plane's budget: who asks for that would wait for its owner
// first. A repeat asks again.
func (d *Activities) describeCapacity(ctx context.Context, in wire.ProvisionedInput) (wire.ProvisionedOutput, error) {
	r, err := throughput.ParseResource(in.Resource)
	if err != nil {
		return wire.ProvisionedOutput{}, activities.Invalid(wire.DescribeCapacity.Name, err)
	}
	document, err := json.Marshal(map[string]string{"TableName": cmp.Or(in.Table, r.Table)})
	if err != nil {
		return wire.ProvisionedOutput{}, err
	}
	request, err := throughput.ParseRequest("DescribeTable", document)
	if err != nil {
		return wire.ProvisionedOutput{}, activities.Invalid(wire.DescribeCapacity.Name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, lookUpWithin)
	defer cancel()
	answer, err := d.service.send(ctx, request.Name, request.Tables, document)
	if err != nil {
		failed := failureOf(request, err)
		if failed.errType == activities.TypeNotFound {
			return wire.ProvisionedOutput{}, nil
		}
		return wire.ProvisionedOutput{}, failed.error(&attempt{operation: "DescribeCapacity", number: 1})
	}
	var table described
	if err := json.Unmarshal(answer, &table); err != nil {
		return wire.ProvisionedOutput{}, activities.Invalid(wire.DescribeCapacity.Name, err)
	}
	return wire.ProvisionedOutput{UnitsPerSecond: table.of(r)}, nil
}

// Owners is the activity that the owners of budgets need: it is registered also
// where they run, for those that nobody has leased from yet.
func (d *Activities) Owners() activities.System { return owners{d} }

type owners struct{ d *Activities }

// All registers the activity under its name.
func (o owners) All() []activities.Named {
	return []activities.Named{activities.On(wire.DescribeCapacity, o.d.describeCapacity)}
}

func (t described) of(r throughput.Resource) throughput.Milli {
	if r.Index == "" {
		return t.Table.of(r.Direction)
	}
	for _, index := range t.Table.GlobalSecondaryIndexes {
		if index.IndexName == r.Index {
			return index.of(r.Direction)
		}
	}
	return 0
}
