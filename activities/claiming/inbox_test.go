package claiming

import (
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/duration"
	"sluice/internal/errortype"
	"sluice/internal/taskmessage"
	"sluice/internal/wire"
)

// shelf is a queue in memory by the rules that count here: a receipt is good for one
// change, and each gives a new one.
type shelf struct {
	mu       sync.Mutex
	receipts map[string]int
	texts    map[string]string
	delays   []time.Duration
	removed  []string
	fails    []error // the next calls, in order
}

// answer is an error of a queue.
type answer struct {
	status int
	code   string
}

func (a answer) Error() string { return fmt.Sprintf("HTTP %d %s", a.status, a.code) }

func newShelf(ids ...string) *shelf {
	s := &shelf{receipts: map[string]int{}, texts: map[string]string{}}
	for _, id := range ids {
		s.receipts[id] = 1
	}
	return s
}

func (s *shelf) Name() string                                     { return "tasks" }
func (s *shelf) Receive(context.Context, int) ([]delivery, error) { return nil, nil }

func (s *shelf) check(id, receipt string) error {
	if len(s.fails) > 0 {
		err := s.fails[0]
		s.fails = s.fails[1:]
		return err
	}
	switch have, ok := s.receipts[id]; {
	case !ok:
		return answer{404, "MessageNotFound"}
	case fmt.Sprint(have) != receipt:
		return answer{400, "PopReceiptMismatch"}
	}
	return nil
}

func (s *shelf) Remove(_ context.Context, id, receipt string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(id, receipt); err != nil {
		return err
	}
	delete(s.receipts, id)
	s.removed = append(s.removed, id)
	return nil
}

func (s *shelf) Update(_ context.Context, id, receipt, text string, visibility time.Duration) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(id, receipt); err != nil {
		return "", err
	}
	s.receipts[id]++
	s.texts[id] = text
	s.delays = append(s.delays, visibility)
	return fmt.Sprint(s.receipts[id]), nil
}

// signedShelf is one that may only be polled and deleted from.
type signedShelf struct{ source }

// place is the edge of an inbox with one queue.
type place struct {
	queue   source
	aside   []string // reasons
	refused error    // of copying aside
}

func (p *place) named(name string) (source, bool) { return p.queue, name == p.queue.Name() }
func (p *place) names() []string                  { return []string{"tasks"} }
func (p *place) conceal(text string) string       { return text }
func (p *place) errorType(string, error) string   { return errortype.Unavailable }
func (p *place) refreshAccess(context.Context) error {
	return nil
}

func (p *place) status(err error) (int, string) {
	var a answer
	if errors.As(err, &a) {
		return a.status, a.code
	}
	return 0, ""
}

func (p *place) copyAside(_ context.Context, _ *held, reason string) error {
	if p.refused == nil {
		p.aside = append(p.aside, reason)
	}
	return p.refused
}

type silent struct{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}

func testInbox(p *place) *inbox {
	in := wire.PollInput{}
	in.Spec.VisibilityTimeout = duration.Duration(time.Minute)
	in.Spec.WarnDequeueCount, in.Spec.MaxDequeueCount = 5, 15
	return newInbox(in, p, silent{}, testLedger(wire.PollCarry{}, time.Now()), func(string, string) {})
}

func taken(id string, n int64) delivery {
	return delivery{ID: id, Receipt: "1", DequeueCount: n, Until: time.Now().Add(time.Minute), Text: `{"taskId":"` + id + `"}`}
}

func memoryOf(b *inbox) (m wire.PollMemory) {
	b.books.remember(&m)
	b.remember(&m)
	return m
}

// A message is owed from when it is dealt with until it is deleted, so that another
// attempt goes on with that.
func TestMessageIsOwedUntilItIsDeleted(t *testing.T) {
	queue := newShelf("a")
	queue.fails = []error{answer{503, ""}}
	b := testInbox(&place{queue: queue})
	ctx, cancel := context.WithCancel(t.Context())
	b.deleteSoon(ctx, b.hold(queue, taken("a", 1)))
	require.Len(t, memoryOf(b).Carry.Owed, 1)
	cancel() // the attempt ends before it tries again
	b.removals.Wait()
	owed := memoryOf(b).Carry.Owed
	if len(queue.removed) == 0 {
		require.Len(t, owed, 1)
		next := testInbox(&place{queue: queue})
		next.adopt(t.Context(), owed[0])
		next.removals.Wait()
		require.Empty(t, memoryOf(next).Carry.Owed)
	}
	require.Equal(t, []string{"a"}, queue.removed)
}

// What is in care is extended at half of its time, and deleted by the receipt that the
// extension gave.
func TestMessageInCareIsExtendedAndDeletedByItsNewestReceipt(t *testing.T) {
	queue := newShelf("a", "b")
	b := testInbox(&place{queue: queue})
	late, early := taken("a", 1), taken("b", 1)
	late.Until = time.Now().Add(20 * time.Second)
	h := b.hold(queue, late)
	b.hold(queue, early)
	b.extendHeld(t.Context())
	require.Equal(t, "2", h.Receipt)
	require.Equal(t, []time.Duration{time.Minute}, queue.delays, "the other has time left")
	b.deleteSoon(t.Context(), h)
	b.removals.Wait()
	require.Equal(t, []string{"a"}, queue.removed)
	b.extendHeld(t.Context())
	require.Len(t, queue.delays, 1, "what is settled is not extended")
}

// A message whose claim nobody could decide comes again after a delay, with the number
// of its excused deliveries; where it can't be written to that is remembered here.
func TestKeptMessageIsExcused(t *testing.T) {
	queue := newShelf("a")
	b := testInbox(&place{queue: queue})
	h := b.hold(queue, taken("a", 3))
	_, ok := b.read(h)
	require.True(t, ok)
	b.keep(t.Context(), h, "HTTP 503")
	m, err := taskmessage.Decode(queue.texts["a"])
	require.NoError(t, err)
	require.EqualValues(t, 1, m.Excused)
	require.Greater(t, queue.delays[0], time.Duration(0))
	require.EqualValues(t, 1, memoryOf(b).Excused)
	require.Empty(t, memoryOf(b).Carry.Excused)

	signed := signedShelf{queue}
	for n := range int64(3) {
		h := b.hold(signed, taken("b", n+1))
		_, ok := b.read(h)
		require.True(t, ok)
		b.keep(t.Context(), h, "HTTP 503")
	}
	require.Equal(t, []wire.RememberedID{{ID: "b", N: 3}}, memoryOf(b).Carry.Excused)
}

// The fifteenth delivery is poison, less those that are excused; so is what can't be
// read. It is copied once, and deleted only once it was.
func TestPoisonIsCopiedOnceThenDeleted(t *testing.T) {
	for _, c := range []struct {
		delivery delivery
		poison   bool
	}{
		{taken("a", 14), false},
		{taken("a", 15), true},
		{delivery{ID: "a", Text: `{"taskId":"a","excused":3}`, DequeueCount: 17}, false},
		{delivery{ID: "a", Text: `{"taskId":"a","excused":3}`, DequeueCount: 18}, true},
		{delivery{ID: "a", Text: `{"taskId":"a","excused":900}`, DequeueCount: 15}, true},
		{delivery{ID: "a", Text: `no message`, DequeueCount: 1}, true},
	} {
		b := testInbox(&place{queue: newShelf("a")})
		_, ok := b.read(b.hold(newShelf("a"), c.delivery))
		require.Equal(t, !c.poison, ok, c.delivery)
	}

	queue := newShelf("a")
	p := &place{queue: queue, refused: answer{403, "AuthorizationFailure"}}
	b := testInbox(p)
	b.poison(t.Context(), b.hold(queue, taken("a", 15)), "delivered too often")
	b.removals.Wait()
	require.Empty(t, queue.removed, "what could not be copied stays")
	require.Contains(t, memoryOf(b).Queues[0].LastError, "poison queue: HTTP 403")
	p.refused = nil
	again := taken("a", 16)
	again.Receipt = "2" // it was given back
	b.poison(t.Context(), b.hold(queue, again), "delivered too often")
	b.removals.Wait()
	require.Equal(t, []string{"a"}, queue.removed)
	require.Len(t, p.aside, 1)
	require.EqualValues(t, 1, memoryOf(b).Poisoned)

	queue = newShelf("c")
	carried := testInbox(&place{queue: queue})
	carried.copied.set("c", 1) // by an attempt that was lost before it deleted
	carried.poison(t.Context(), carried.hold(queue, taken("c", 15)), "delivered too often")
	carried.removals.Wait()
	require.Empty(t, carried.edge.(*place).aside)
	require.Equal(t, []string{"c"}, queue.removed)
}

// A queue in trouble rests, tells of an error once, and is shown.
func TestQueueInTroubleRests(t *testing.T) {
	b := testInbox(&place{queue: newShelf()})
	require.True(t, b.ready("tasks"))
	var told []errortype.Trouble
	b.trouble = func(trouble errortype.Trouble) { told = append(told, trouble) }
	b.failed("tasks", answer{500, "InternalError"})
	require.False(t, b.ready("tasks"))
	require.Empty(t, told[0], "a repeat mends it most often")
	b.failed("tasks", answer{500, "InternalError"})
	state := memoryOf(b).Queues[0]
	require.EqualValues(t, 2, state.Errors)
	require.Equal(t, "HTTP 500 InternalError", state.LastError)
	require.Equal(t, errortype.Trouble{Type: errortype.Unavailable, Error: "HTTP 500 InternalError"}, told[1])
	require.Equal(t, told[1], memoryOf(b).Carry.Trouble)
	b.worked("tasks")
	require.Empty(t, told[2])
	require.True(t, b.ready("tasks"))
	b.measured("tasks", 3, 1, 4)
	require.Equal(t, wire.QueueState{Name: "tasks", Visible: 3, Invisible: 1, Approximate: 4, Errors: 2, LastError: "HTTP 500 InternalError"}, memoryOf(b).Queues[0])
}

// What an attempt remembered the next one knows.
func TestInboxGoesOnFromAHeartbeat(t *testing.T) {
	b := testInbox(&place{queue: newShelf()})
	b.restore(wire.PollMemory{Queues: []wire.QueueState{{Name: "tasks", Errors: 7}}, Carry: wire.PollCarry{
		Excused: []wire.RememberedID{{ID: "a", N: 2}}, Copied: []wire.RememberedID{{ID: "b", N: 1}}}})
	m := memoryOf(b)
	require.EqualValues(t, 7, m.Queues[0].Errors)
	require.Equal(t, []wire.RememberedID{{ID: "a", N: 2}}, m.Carry.Excused)
	require.Equal(t, []wire.RememberedID{{ID: "b", N: 1}}, m.Carry.Copied)
}

// The latest are remembered; what is forgotten counts anew.
func TestRememberedMessagesAreBounded(t *testing.T) {
	var m idMemory
	for i := range rememberAtMost + 10 {
		m.set(fmt.Sprint(i), 1)
	}
	m.forget("100")
	require.Len(t, m.list(), rememberAtMost-1)
	require.Zero(t, m.get("9"))
	require.Zero(t, m.get("100"))
	require.EqualValues(t, 1, m.get("10"))
}

// Inbox and ledger can be read, and tested, without Azure and without Temporal.
func TestInboxAndLedgerKnowNeitherAzureNorTemporal(t *testing.T) {
	for _, file := range []string{"inbox.go", "held.go", "views.go", "poison.go", "remembered.go", "ledger.go"} {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, i := range parsed.Imports {
			for _, not := range []string{"temporal", "zure", "sluice/activities"} {
				require.False(t, strings.Contains(i.Path.Value, not), "%s imports %s", file, i.Path.Value)
			}
		}
	}
}
