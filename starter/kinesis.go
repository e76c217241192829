package main

// kinesisCmd runs one Kinesis activity as a request of one job.
type kinesisCmd struct {
	PutRecords kinesisPutRecordsCmd `cmd:"" help:"Put records to a stream."`
	PutObject  kinesisPutObjectCmd  `cmd:"" help:"Put the records of an S3 object to a stream."`
}

type kinesisPutRecordsCmd struct{ oneJobFlags }

func (k kinesisPutRecordsCmd) Run(a *app) error {
	return a.runOneJob("Kinesis.PutRecords", k.oneJobFlags)
}

type kinesisPutObjectCmd struct{ oneJobFlags }

func (k kinesisPutObjectCmd) Run(a *app) error {
	return a.runOneJob("Kinesis.PutObject", k.oneJobFlags)
}
