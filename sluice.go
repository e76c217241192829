// Package sluice is what programs import. LoadConfig and Connect make the clients of a
// worker, NewWorker a worker with every workflow and activity registered, to which a
// program adds its own. Each workflow has a typed reference (Request, Producer,
// Quiescence, …) that starts it and awaits its result; so has each update, signal and
// query (Suspend, AddRecords, Observed, RequestStatus, …), which sends or asks. Their
// documents are in package workflows. OpenDynamoDB and OpenKinesis serve a program's own
// code without a workflow.
//
// It is the only package that knows all rooms.
package sluice
