package dynamodb

import (
	"context"
	"encoding/json"

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

// describeCapacity asks the service, through the control plane's own budget. A
// repeat asks again.
func (d *Activities) describeCapacity(ctx context.Context, in wire.ProvisionedInput) (wire.ProvisionedOutput, error) {
	r, err := throughput.ParseResource(in.Resource)
	if err != nil {
		return wire.ProvisionedOutput{}, activities.Invalid(wire.DescribeCapacity.Name, err)
	}
	request, err := json.Marshal(map[string]string{"TableName": r.Table})
	if err != nil {
		return wire.ProvisionedOutput{}, err
	}
	alive, stop := activities.KeepAlive(ctx, activities.WorkingHeartbeat, nil)
	defer stop()
	answer, err := d.Call(alive, "DescribeTable", request, 1)
	if activities.TypeOf(err) == activities.TypeNotFound {
		return wire.ProvisionedOutput{}, nil
	}
	if err != nil {
		return wire.ProvisionedOutput{}, err
	}
	var table described
	if err := json.Unmarshal(answer, &table); err != nil {
		return wire.ProvisionedOutput{}, activities.Invalid(wire.DescribeCapacity.Name, err)
	}
	return wire.ProvisionedOutput{UnitsPerSecond: table.of(r)}, nil
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
