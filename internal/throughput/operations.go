package throughput

import "slices"

// An Operation is one of DynamoDB's that Sluice calls.
type Operation struct {
	Name      string
	Direction Direction
	Control   bool // charged to the control plane, not to a table
	Batch     bool // split and repeated until it is whole
	Transact  bool
}

// Operations are all of them; each is the activity "DynamoDB.<Name>".
func Operations() []Operation {
	return []Operation{
		{Name: "GetItem", Direction: Read},
		{Name: "Query", Direction: Read},
		{Name: "Scan", Direction: Read},
		{Name: "BatchGetItem", Direction: Read, Batch: true},
		{Name: "PutItem", Direction: Write},
		{Name: "UpdateItem", Direction: Write},
		{Name: "DeleteItem", Direction: Write},
		{Name: "BatchWriteItem", Direction: Write, Batch: true},
		{Name: "TransactGetItems", Direction: Read, Transact: true},
		{Name: "TransactWriteItems", Direction: Write, Transact: true},
		{Name: "ListTables", Direction: Read, Control: true},
		{Name: "DescribeTable", Direction: Read, Control: true},
		{Name: "CreateTable", Direction: Write, Control: true},
		{Name: "UpdateTable", Direction: Write, Control: true},
		{Name: "DeleteTable", Direction: Write, Control: true},
	}
}

// OperationNamed finds an operation by its name.
func OperationNamed(name string) (Operation, bool) {
	all := Operations()
	i := slices.IndexFunc(all, func(o Operation) bool { return o.Name == name })
	if i < 0 {
		return Operation{}, false
	}
	return all[i], true
}
