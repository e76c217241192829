package throughput

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestClass(t *testing.T) {
	for priority, class := range map[int]int{0: 2, 1: 0, 3: 2, 5: 4, 9: 4, -1: 0} {
		require.Equal(t, class, Class(priority), "priority %d", priority)
	}
}

func TestCaseD10EqualArrivalsKeepTheirOrder(t *testing.T) {
	var q Queue[int]
	for i := range 100 {
		q.Push(&Entry[int]{Value: i, Class: 2, Arrived: start, Seq: uint64(i), Cost: Unit})
	}
	require.Equal(t, 100*Unit, q.Cost(2))
	for i := range 100 {
		head := q.Head(2)
		require.Equal(t, i, head.Value)
		require.True(t, q.Remove(head))
		require.False(t, q.Remove(head))
	}
	require.Nil(t, q.Head(2))
}

func TestCaseD10APutBackCallKeepsItsPlace(t *testing.T) {
	var q Queue[string]
	first := &Entry[string]{Value: "first", Class: 2, Arrived: start, Seq: 1}
	q.Push(first)
	q.Push(&Entry[string]{Value: "second", Class: 2, Arrived: at(time.Second), Seq: 2})
	q.Remove(first)
	q.Push(&Entry[string]{Value: "third", Class: 2, Arrived: at(2 * time.Second), Seq: 3})
	q.Push(first)
	require.Equal(t, "first", q.Head(2).Value)
	require.Equal(t, start, q.Oldest())
}

// The queue against a sorted list.
func TestQueueOrdersLikeASortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q Queue[int]
		var model []*Entry[int]
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			if len(model) == 0 || rapid.Bool().Draw(t, "push") {
				e := &Entry[int]{Value: i, Class: rapid.IntRange(0, 4).Draw(t, "class"), Seq: uint64(i), Cost: Unit,
					Arrived: at(time.Duration(rapid.IntRange(0, 5).Draw(t, "arrived")))}
				q.Push(e)
				model = append(model, e)
			} else {
				i := rapid.IntRange(0, len(model)-1).Draw(t, "remove")
				require.True(t, q.Remove(model[i]))
				model = slices.Delete(model, i, i+1)
			}
			require.Equal(t, len(model), q.Len())
			for class := range Priorities {
				var first *Entry[int]
				for _, e := range model {
					if e.Class == class && (first == nil || e.Before(first)) {
						first = e
					}
				}
				require.Equal(t, first, q.Head(class))
			}
		}
	})
}

func TestCaseD10LowerPrioritiesKeepATenth(t *testing.T) {
	var turns Turns
	served := map[int]int{}
	waiting := [Priorities]Milli{Unit, 0, Unit, 0, Unit}
	for range 10_000 {
		class := turns.Next(waiting)
		turns.Served(class, Unit, waiting)
		served[class]++
	}
	require.InDelta(t, 9000, served[0], 10)
	require.InDelta(t, 900, served[2], 10)
	require.InDelta(t, 100, served[4], 10)
	require.Equal(t, -1, turns.Next([Priorities]Milli{}))

	waiting = [Priorities]Milli{0, 0, Unit, 0, 0}
	require.Equal(t, 2, turns.Next(waiting), "alone, a class has everything")
}
