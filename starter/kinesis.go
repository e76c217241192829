package main

import (
	"encoding/json"
	"fmt"

	"sluice/activities/kinesis"
	"sluice/internal/wire"
	"sluice/workflows/request"
)

// kinesisCmd runs one Kinesis activity as a request of one job.
type kinesisCmd struct {
	PutRecords kinesisPutRecordsCmd `cmd:"" help:"Put records to a stream."`
	PutObject  kinesisPutObjectCmd  `cmd:"" help:"Put the records of an S3 object to a stream."`
}

type kinesisPutRecordsCmd struct{ oneJobFlags }

func (k kinesisPutRecordsCmd) Run(a *app) error {
	return a.runOneJob(wire.KinesisPutRecords, k.oneJobFlags, requestProgress)
}

type kinesisPutObjectCmd struct{ oneJobFlags }

func (k kinesisPutObjectCmd) Run(a *app) error {
	return a.runOneJob(wire.KinesisPutObject, k.oneJobFlags, a.objectProgress)
}

// objectProgress is how far the object is, which only the activity's heartbeats
// tell: in bytes, or in records where the object is compressed or its size not
// known.
func (a *app) objectProgress(raw json.RawMessage) (done, total int64, words string) {
	done, total, words = requestProgress(raw)
	var status request.Status
	var beat struct {
		Offset, Size int64
		Coding       string
		Output       kinesis.PutRecordsOutput
	}
	if json.Unmarshal(raw, &status) != nil || !a.heartbeat(status.ID, wire.KinesisPutObject, &beat) {
		return done, total, words
	}
	stored := beat.Output.StoredRecordCount
	if beat.Size == 0 || beat.Coding != "" {
		return stored, 0, words + ", records stored"
	}
	return beat.Offset, beat.Size, fmt.Sprintf("%s, %d records stored, bytes", words, stored)
}
