package recordbatch

// A Call is what the records of one caller have in common.
type Call struct {
	// Keyed asks for strict order by key.
	Keyed bool
	// HoldKeys keeps the later records of a key back, unsent, once an earlier
	// one has failed for good.
	HoldKeys bool
	// MaxAttempts is how often a record is sent before it counts as failed.
	MaxAttempts int
	// Owner is for the caller's own use.
	Owner any

	keys      map[string]*keyLine
	open      int
	withdrawn bool
}

// Open is how many of the call's records are in the queue or outside. Once all
// are pushed, or the call is withdrawn, zero means that nothing more happens.
func (c *Call) Open() int { return c.open }

// Withdrawn says that the call's records are not sent any more.
func (c *Call) Withdrawn() bool { return c.withdrawn }

// An Item is one Kinesis record under way.
type Item struct {
	Record
	Call *Call
	// Index is the caller's number of the record.
	Index int64
	// Chunk is what the item's memory belongs to, or nil.
	Chunk *Chunk
	// Attempts counts how often it was sent.
	Attempts int32
	// Unsure is set once an attempt's outcome stayed unknown: a copy may be stored.
	Unsure bool

	size   int
	at     int64 // when it was pushed
	seq    uint64
	shard  int32
	prompt bool // need not wait for company
	line   *keyLine
	next   *Item
	joined *aggregate // what an aggregated record holds
}

// A Chunk is memory for items, to be used again once Left of them, which the
// owner counts down, have come to their end.
type Chunk struct {
	Items []Item
	Left  int
}

// keyLine is the queue of one key of a keyed call. Its head is the only item
// of the key that may be outside.
type keyLine struct {
	head, tail *Item
	held       bool
}

// Kinds of queue that a shard's records wait in.
const (
	plain = iota
	keyed
	kinds
)

// lineOf finds or makes the line of an item's key.
func (c *Call) lineOf(it *Item) *keyLine {
	if c.keys == nil {
		c.keys = map[string]*keyLine{}
	}
	line := c.keys[it.lineName()]
	if line == nil {
		line = &keyLine{}
		c.keys[it.lineName()] = line
	}
	return line
}

// lineName is the key that orders an item: an aggregate's is its shard.
func (it *Item) lineName() string {
	if it.joined != nil && it.joined.line != "" {
		return it.joined.line
	}
	return it.Key
}

// join puts an item at the end of the line and says whether it is the head.
func (line *keyLine) join(it *Item) bool {
	it.line = line
	if line.head == nil {
		line.head, line.tail = it, it
		return true
	}
	line.tail.next = it
	line.tail = it
	return false
}

// cutBehind drops all of a line that is behind its head.
func (q *Queue) cutBehind(line *keyLine) {
	for it := line.head.next; it != nil; it = it.next {
		q.chained--
		q.waitingBytes -= it.size
		it.Call.open--
	}
	line.head.next, line.tail = nil, line.head
}
