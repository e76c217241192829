package kinesis

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"sluice/activities"
	"sluice/internal/recordbatch"
)

// putState is the checkpoint of a put: which of its records, numbered from 0,
// are settled, and what became of them. That of an object names only records
// that its attempt has read, since no other has a known place.
type putState struct {
	Next     int64            `json:"next"`               // all below are settled
	Ahead    string           `json:"ahead,omitempty"`    // those settled beyond, relative to Next
	Reserved int64            `json:"reserved,omitempty"` // unsettled ones below may have a copy
	Offset   int64            `json:"offset,omitempty"`   // PutObject: where record Next begins
	ETag     string           `json:"etag,omitempty"`     // PutObject: the object's at the first attempt
	Coding   string           `json:"coding,omitempty"`   // PutObject: how the object is compressed
	Size     int64            `json:"size,omitempty"`     // PutObject: of the object, for whoever shows progress
	Seal     string           `json:"seal,omitempty"`     // PutObject: the attempt knew what the state says
	Output   PutRecordsOutput `json:"output"`
	// LastError is why records are sent again, for whoever waits.
	LastError string `json:"lastError,omitempty"`
}

// mostRecords bounds the numbers in a checkpoint, so that sums don't overflow.
const mostRecords = 1 << 53

// takeUp reads the checkpoint that an attempt goes on from and the progress that
// it tells. One that can't be is InvalidInput: going on from it could put records
// that aren't the caller's, or not put some that are.
func takeUp(ctx context.Context, operation string, window int) (state putState, progress *recordbatch.Progress, found bool, err error) {
	found, err = activities.Checkpoint(ctx, &state)
	if err == nil {
		err = state.impossible()
	}
	if err == nil {
		progress = recordbatch.NewProgress(state.Next, window)
		err = progress.Mark(state.Ahead)
	}
	if told := state.Output.StoredRecordCount + state.Output.FailedRecordCount; err == nil && told > progress.Settled() {
		err = fmt.Errorf("output tells of %d records, of which %d are settled", told, progress.Settled())
	}
	if err != nil {
		return state, nil, found, badCheckpoint(operation, err)
	}
	return state, progress, found, nil
}

func badCheckpoint(operation string, err error) error {
	return activities.Invalid(operation, fmt.Errorf("checkpoint: %w; start the job again without it", err))
}

// impossible says what no put can have left.
func (s *putState) impossible() error {
	out := &s.Output
	switch {
	case min(s.Next, s.Reserved, s.Offset, s.Size) < 0, max(s.Next, s.Offset) > mostRecords:
		return fmt.Errorf("next %d, reserved %d, offset %d or size %d is out of range", s.Next, s.Reserved, s.Offset, s.Size)
	case min(out.StoredRecordCount, out.FailedRecordCount, out.PossiblyDuplicated, out.PutRecordsCalls) < 0,
		max(out.StoredRecordCount, out.FailedRecordCount) > mostRecords:
		return errors.New("a count in output is out of range")
	case s.Seal != "" && s.Seal != s.seal():
		return errors.New("it is not as it was written")
	}
	return nil
}

// misplaced says that no object has record Next at Offset: each record before it
// has a byte at least.
func (s *putState) misplaced() error {
	if s.Next == 0 && s.Offset != 0 || s.Offset < s.Next {
		return fmt.Errorf("record %d can't begin at byte %d", s.Next, s.Offset)
	}
	return nil
}

// seal is a sum of what decides over what is sent and told. It vouches that the
// state is one attempt's, whole: what it says of the object was read there.
func (s *putState) seal() string {
	sum := xxhash.New()
	_, _ = fmt.Fprintf(sum, "%d %s %d %q %q %d %d", s.Next, s.Ahead, s.Offset, []rune(s.ETag), []rune(s.Coding),
		s.Output.StoredRecordCount, s.Output.FailedRecordCount) // a hash takes all
	return strconv.FormatUint(sum.Sum64(), 36)
}
