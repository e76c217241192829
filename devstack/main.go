// Command devstack runs everything that Sluice needs on one machine, without
// containers: a Temporal server with its Web UI, emulators of DynamoDB, Kinesis,
// S3, SQS and Azure queues behind a guard that adds their limits, and a stand-in
// for the service that delivers a stream to S3.
package main

import (
	"fmt"
	"os"

	"github.com/alecthomas/kong"
)

type commands struct {
	Up        upCommand        `cmd:"" default:"withargs" help:"Start the stack and run until SIGINT or SIGTERM (the default)."`
	Demo      demoCommand      `cmd:"" help:"Run the main job on real data, on a stack of its own, and stop."`
	Down      downCommand      `cmd:"" help:"Stop the stack of a state directory."`
	Delivery  deliveryCommand  `cmd:"" help:"Deliver streams to buckets, against any endpoints."`
	Resources resourcesCommand `cmd:"" help:"Make the demo's buckets, stream, table and queues, on any endpoints."`
	Seed      seedCommand      `cmd:"" help:"Put real records into S3 as the demo's input."`
	Browse    browseCommand    `cmd:"" hidden:"" help:"Open pages in a headless Chromium and tell what is seen of them."`
	Kumo      kumoCommand      `cmd:"" hidden:"" help:"Serve S3 and SQS alone."`
}

func main() {
	var c commands
	k := kong.Parse(&c, kong.Name("devstack"),
		kong.Description("Temporal, emulated AWS and Azure services, and real limits, on this machine."),
		kong.UsageOnError())
	if err := k.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "devstack:", err)
		os.Exit(1)
	}
}
