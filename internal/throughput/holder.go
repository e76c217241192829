package throughput

import (
	"encoding/json"
	"fmt"
	"time"
)

// A Holder is a worker with a share, or with a lease that gives it none yet.
type Holder struct {
	Worker    string
	At        time.Time // of the lease
	ExpiresAt time.Time
	Units     Milli
	Unlimited bool
	Long      bool // a small share for some minutes
	Short     bool // clearly less than it should have, so it asks again soon
	Demand    Demand
	Rate      Milli     // consumed a second, over the lease before
	Fastest   Milli     // consumed in any second of it
	Debt      Milli     // consumed beyond its shares, at At
	Alike     int       // leases in a row with a share like this
	From      time.Time // when a newcomer gets its first share; zero: at once
}

// unlimitedFlag and longFlag are how a holder's booleans are carried.
const (
	unlimitedFlag = 1
	longFlag      = 2
	shortFlag     = 4
)

// MarshalJSON packs a holder into a list, since thousands are carried from run to
// run: name, instant, length, units, flags, rate, fastest, debt, alike, instant of
// the first share, and the demand of each class up to the last that asks.
func (h Holder) MarshalJSON() ([]byte, error) {
	flags, from := 0, int64(0)
	if h.Unlimited {
		flags |= unlimitedFlag
	}
	if h.Long {
		flags |= longFlag
	}
	if h.Short {
		flags |= shortFlag
	}
	if !h.From.IsZero() {
		from = h.From.UnixNano()
	}
	list := []any{
		h.Worker, h.At.UnixNano(), int64(h.ExpiresAt.Sub(h.At)), int64(h.Units), flags,
		int64(h.Rate), int64(h.Fastest), int64(h.Debt), h.Alike, from,
	}
	last := Priorities
	for last > 0 && h.Demand[last-1] == 0 {
		last--
	}
	for _, units := range h.Demand[:last] {
		list = append(list, int64(units))
	}
	return json.Marshal(list)
}

// UnmarshalJSON is the twin of MarshalJSON.
func (h *Holder) UnmarshalJSON(raw []byte) error {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	const fixed = 10
	if len(list) < fixed || len(list) > fixed+Priorities {
		return fmt.Errorf("a holder of %d fields", len(list))
	}
	*h = Holder{}
	if err := json.Unmarshal(list[0], &h.Worker); err != nil {
		return err
	}
	numbers := make([]int64, len(list)-1)
	for i, field := range list[1:] {
		if err := json.Unmarshal(field, &numbers[i]); err != nil {
			return err
		}
	}
	h.At = time.Unix(0, numbers[0]).UTC()
	h.ExpiresAt = h.At.Add(time.Duration(numbers[1]))
	h.Units = Milli(numbers[2])
	h.Unlimited, h.Long, h.Short = numbers[3]&unlimitedFlag != 0, numbers[3]&longFlag != 0, numbers[3]&shortFlag != 0
	h.Rate, h.Fastest, h.Debt, h.Alike = Milli(numbers[4]), Milli(numbers[5]), Milli(numbers[6]), int(numbers[7])
	if numbers[8] != 0 {
		h.From = time.Unix(0, numbers[8]).UTC()
	}
	for class, units := range numbers[fixed-1:] {
		h.Demand[class] = Milli(units)
	}
	return nil
}

// owes is what is left at now of the holder's debt, which its share pays.
func (h Holder) owes(now time.Time) Milli {
	return max(h.Debt-during(h.Units, now.Sub(h.At)), 0)
}

// during is what comes in at a rate within a time.
func during(rate Milli, passed time.Duration) Milli {
	return mulDiv(rate, Milli(max(passed, 0)), Milli(time.Second))
}

// mostCarried is the bytes that the holders of one budget may take up, so that a
// run can hand them on whole; carriedEach is what one needs besides its name.
const (
	mostCarried = 1650 << 10
	carriedEach = 150
)

// Full reports that a budget can't take in another worker.
func (o *Owner) Full(worker string) bool {
	size := carriedEach + len(worker)
	for _, h := range o.Holders {
		if h.Worker == worker {
			return false
		}
		size += carriedEach + len(h.Worker)
	}
	return size > mostCarried
}
