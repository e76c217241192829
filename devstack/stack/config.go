// Package stack assembles the dev stack: Temporal with its Web UI, the emulators,
// the guard in front of them, and the delivery stand-in. It starts them on free
// ports of 127.0.0.1, waits until each is ready, and says where they are.
package stack

import (
	"time"

	"sluice/devstack/guard"
)

// Config is what a stack can be told; the tags are the command line's.
type Config struct {
	State       string        `help:"Directory for the environment file, logs and the lock." default:".devstack" type:"path"`
	Data        string        `help:"Keep all data in this directory; without it everything is in memory." type:"path"`
	Temporal    string        `help:"The temporal binary; else .bin/temporal beside this program or here, else PATH." env:"TEMPORAL_CLI"`
	Modules     string        `help:"The node_modules directory with the emulators; else devstack/node_modules beside this program or here." env:"SLUICE_NODE_MODULES"`
	Namespace   string        `help:"Temporal namespace." default:"default"`
	UI          bool          `help:"Start the Web UI." default:"true" negatable:""`
	Demo        bool          `help:"Make the demo's buckets, stream, table and queues." default:"true" negatable:""`
	ReadyWithin time.Duration `help:"How long the parts may take to become ready." default:"90s"`
	Burst       time.Duration `help:"How long unused DynamoDB capacity is saved up (the service: 5m)." default:"10s"`
	ShardLimits bool          `help:"Hold Kinesis shards to 1,000 records and 1 MiB a second." default:"true" negatable:""`
	Dynamic     []string      `help:"More of Temporal's dynamic configuration, as key=JSON." placeholder:"KEY=JSON"`
}

func (c Config) limits() guard.Limits {
	limits := guard.Limits{DynamoDB: guard.DynamoDBLimits{Burst: guard.Duration(c.Burst)}}
	if !c.ShardLimits {
		limits.Kinesis = guard.KinesisLimits{RecordsPerSecond: -1, BytesPerSecond: -1}
	}
	return limits
}
