package activities

import (
	"context"
	"encoding/json"

	"sluice/internal/throughput"
)

// DescribeCapacity is the activity by which the owner of a budget asks what is
// provisioned.
const DescribeCapacity = "DynamoDB.DescribeCapacity"

// ProvisionedInput names a budget, such as "dynamodb/eu-west-1/orders/read".
type ProvisionedInput struct {
	Resource string `json:"resource"`
}

// ProvisionedOutput is what is provisioned for it, in units a second; 0 where
// there is no ceiling: on-demand tables, local indexes (they live on their table)
// and tables that are not there, whose calls the service itself refuses.
type ProvisionedOutput struct {
	UnitsPerSecond throughput.Milli `json:"unitsPerSecond"`
}

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
func (d *DynamoDB) describeCapacity(ctx context.Context, in ProvisionedInput) (ProvisionedOutput, error) {
	r, err := throughput.ParseResource(in.Resource)
	if err != nil {
		return ProvisionedOutput{}, Invalid(DescribeCapacity, err)
	}
	request, err := json.Marshal(map[string]string{"TableName": r.Table})
	if err != nil {
		return ProvisionedOutput{}, err
	}
	alive, stop := KeepAlive(ctx, WorkingHeartbeat, nil)
	defer stop()
	answer, err := d.Call(alive, "DescribeTable", request, 1)
	if TypeOf(err) == TypeNotFound {
		return ProvisionedOutput{}, nil
	}
	if err != nil {
		return ProvisionedOutput{}, err
	}
	var table described
	if err := json.Unmarshal(answer, &table); err != nil {
		return ProvisionedOutput{}, Invalid(DescribeCapacity, err)
	}
	return ProvisionedOutput{table.of(r)}, nil
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
