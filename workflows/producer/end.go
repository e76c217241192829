package producer

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sluice/internal/recordbatch"
	"sluice/internal/wire"
)

// closing is how a Producer ends that was cancelled.
type closing struct {
	noticed bool
	flushes bool // what is buffered is sent, until then
	until   time.Time
}

// closingTime is how long a cancelled Producer goes on sending what it has; a
// batch that is out then still comes to its end.
const closingTime = 30 * time.Second

// noticeCancel lets a cancelled Producer send what it has, unless it was told to
// send nothing.
func (p *run) noticeCancel(ctx workflow.Context) {
	if p.closing.noticed || !p.canceled(ctx) {
		return
	}
	p.closing.noticed = true
	if p.State == Running {
		p.closing.flushes, p.closing.until = true, workflow.Now(ctx).Add(closingTime)
	}
}

func (p *run) canceled(ctx workflow.Context) bool { return ctx.Err() != nil }

// rolling says that the run is to be continued as new.
func (p *run) rolling(ctx workflow.Context) bool {
	return workflow.GetInfo(ctx).GetContinueAsNewSuggested()
}

// ending says that the run starts no batch any more.
func (p *run) ending(ctx workflow.Context) bool {
	if p.canceled(ctx) {
		return !p.goesOn(ctx)
	}
	return p.rolling(ctx)
}

// goesOn says that a cancelled Producer has something to send and the time to.
func (p *run) goesOn(ctx workflow.Context) bool {
	next := workflow.Now(ctx)
	if p.NextAttemptAt.After(next) {
		next = p.NextAttemptAt
	}
	return p.closing.flushes && len(p.Buffer.Records) > 0 && next.Before(p.closing.until)
}

func (p *run) mayEnd(ctx workflow.Context) bool {
	return p.batch == nil && p.ending(ctx) && workflow.AllHandlersFinished(ctx)
}

// end closes the run: cancelled, or continued by the next one.
func (p *run) end(ctx workflow.Context) error {
	if !p.canceled(ctx) {
		return workflow.NewContinueAsNewError(ctx, wire.TypeProducer, carried{p.in, p.state})
	}
	if len(p.Buffer.Records) == 0 {
		return temporal.NewCanceledError(p.view())
	}
	workflow.GetLogger(ctx).Warn("the producer ends with records that were not sent; they are in the details of its end",
		"stream", p.in.Stream, "records", len(p.Buffer.Records))
	return temporal.NewCanceledError(p.view(), unsent{putRecords(p.Buffer.Records)})
}

// unsent are records that a cancelled Producer could not send, as `add` takes
// them.
type unsent struct {
	Records []wire.BatchRecord `json:"records"`
}

func putRecords(buffered []recordbatch.Buffered) []wire.BatchRecord {
	records := make([]wire.BatchRecord, len(buffered))
	for i, r := range buffered {
		records[i] = wire.BatchRecord{Data: r.Data, PartitionKey: r.Key, ExplicitHashKey: r.HashKey}
	}
	return records
}
