// Package soak runs every system at once on a dev stack of its own while a seeded plan
// of faults hits workers, the Temporal server and the services, and then audits what is
// left: what the guard's journal says the services accepted, what Temporal's histories
// say was done, and how everything ended, against a plain list of what was promised.
//
// The plan (plan.go) and the auditor (audit.go) know no process and no network. A
// generator (one file a system) starts its work over the time of the plan, awaits its
// end and answers its promises. The driver (driver.go) carries the plan out; collect.go
// reads what is left. A system is added by a generator and a line in systems.
package soak
