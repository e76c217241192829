// Package guard stands in front of the emulators and adds what they leave out:
// DynamoDB's provisioned throughput and transactions, Kinesis' shard and request
// limits, and pieces of answers that the SDKs expect. On demand it makes faults,
// and it counts every call.
//
// Each service has a proxy of its own on 127.0.0.1; a call goes
//
//	counters → faults before the work → the service's rules and its emulator → faults after it
//
// The admin address serves
//
//	POST   /faults            a Fault; answers {"id"}
//	GET    /faults            the faults in force
//	DELETE /faults[?id=…]     one, or all
//	GET    /counters          calls by service, operation, target
//	POST   /counters/reset
//	GET    /limits            those in force
//	PUT    /limits            merged into them
//	POST   /journal           begins one of what the emulators accept from now on
//	GET    /journal           what they accepted, in order
//	DELETE /journal           ends it
//
// The limits' arithmetic is in guard/rules, which knows no network and no clock.
package guard
