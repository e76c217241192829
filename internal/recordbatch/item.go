package recordbatch

// A Call is what the records of one caller have in common.
type Call struct {
	// Keyed asks for strict order by key.
	Keyed bool
	// HoldKeys keeps the later records of a key back, unsent, once an earlier
	// one has failed for good. It needs Keyed, and its records go singly.
	HoldKeys bool
	// Aggregate joins the records that lie on one shard.
	Aggregate bool
	// MaxAttempts is how often a record is sent before it counts as failed.
	MaxAttempts int
	// Owner is for the caller's own use.
	Owner any

	keys      *keyQueues
	open      int
	withdrawn bool
}

// Open is how many of the call's records are in the queue or in flight. Once all
// are pushed, or the call is withdrawn, zero means that nothing more happens.
func (c *Call) Open() int { return c.open }

// Withdrawn says that the call's records are not sent any more.
func (c *Call) Withdrawn() bool { return c.withdrawn }

// kind is the kind of row that the call's records wait in.
func (c *Call) kind() int {
	switch {
	case c.HoldKeys || c.Keyed && !c.Aggregate:
		return keyed
	case c.Keyed:
		return keyedAggregates
	case c.Aggregate:
		return aggregates
	}
	return plain
}

// An Item is one record under way. The queue and its requests hold items by
// value, less than a line of the processor's cache each: those of a shard then lie
// side by side in the order in which they are read.
type Item struct {
	*Record
	Call *Call
	// Index is the caller's number of the record.
	Index int64

	pushed   int64 // when it was; no two are alike, so that it tells their order too
	size     int32
	shard    int32
	keyQueue int32 // of its call; 0 is none
	// Attempts counts how often it was sent.
	Attempts int32
	// Unconfirmed is set once an attempt's outcome stayed unknown: a copy may be
	// stored.
	Unconfirmed bool

	prompt bool // need not linger
	alone  bool // refused as the only record of a request: not to be aggregated
}

// A Chunk is memory to gather items in before they are pushed.
type Chunk struct{ Items []Item }

// itemBytes is about what a record takes in memory besides its data and key: itself,
// its item where it waits, and its item in a request.
const itemBytes = 192

// memory is what so many records of so many bytes are counted for. The garbage
// collector lets what is no longer used grow to what is; half of it is for what is
// read and written meanwhile.
func memory(records, bytes int) int { return (bytes + records*itemBytes) / 2 * 5 }

// Kinds of row.
const (
	plain = iota
	keyed
	aggregates
	keyedAggregates
	kinds
)
