package countobjects

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// mostHolders bounds what a run carries; an ID has at most a thousand bytes.
const mostHolders = 500

func (m *monitor) mayJoin(ctx workflow.Context, _ wire.CountHolder) error {
	switch {
	case m.state != countOpen || m.over:
		return shell.Refused(ctx, wire.UpdateJoin, activities.TypeConflict, "it is about to end")
	case len(m.holders) >= mostHolders:
		return shell.Refused(ctx, wire.UpdateJoin, activities.TypeConflict, "too many ingestions have joined it")
	}
	return nil
}

func (m *monitor) join(_ workflow.Context, in wire.CountHolder) (wire.CountHolders, error) {
	if !slices.Contains(m.holders, in.Holder) {
		m.holders = append(m.holders, in.Holder)
	}
	return m.holdersNow(), nil
}

// leave takes a holder out. With the last the counter ends, if an ingestion started
// it: somebody else's goes on.
func (m *monitor) leave(ctx workflow.Context, in wire.CountHolder) (wire.CountHolders, error) {
	if at := slices.Index(m.holders, in.Holder); at >= 0 {
		m.holders = slices.Delete(m.holders, at, at+1)
		_, ofIngestion := workflow.GetInfo(ctx).Memo.GetFields()[wire.MemoStartedBy]
		if len(m.holders) == 0 && ofIngestion && m.state == countOpen {
			m.endAs(countStopped)
		}
	}
	return m.holdersNow(), nil
}

func (m *monitor) holdersNow() wire.CountHolders {
	return wire.CountHolders{Holders: slices.Clone(m.holders)}
}
