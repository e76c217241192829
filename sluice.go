// Package sluice is what programs import: the options of a client that speaks to
// Sluice's workflows, the clients of AWS, and the registration of every workflow and
// activity. It is the only place that knows all of them.
package sluice
