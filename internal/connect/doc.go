// Package connect makes the loggers and clients that the worker, the starter
// and the end-to-end tests share: Temporal with its data converter, AWS, Azure
// queues. It is used by programs only; workflows and activities are handed what
// it makes. It reads the environment only where the libraries do (TEMPORAL_* and
// the AWS chain); everything of our own is in Config, which main fills.
package connect
