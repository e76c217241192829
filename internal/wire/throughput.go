package wire

import "sluice/internal/throughput"

// ProvisionedInput names a budget, such as "dynamodb/eu-west-1/orders/read".
type ProvisionedInput struct {
	Resource string `json:"resource"`
	Table    string `json:"table,omitempty"` // its ARN, where it is known by that
}

// ProvisionedOutput is what is provisioned for it, in units a second; 0 where
// there is no ceiling: on-demand tables, local indexes (they live on their table)
// and tables that are not there, whose calls the service itself refuses.
type ProvisionedOutput struct {
	UnitsPerSecond throughput.Milli `json:"unitsPerSecond"`
}

// AwaitActiveInput names a table that is being made or changed.
type AwaitActiveInput struct {
	TableName string `doc:"required"`
}
