package activities

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/errortype"
)

// told is what a workflow was told, and when.
type told struct {
	at   time.Duration
	what string
}

// telling is a teller whose workflow takes down what it hears.
func telling(ctx context.Context, heard *[]told, fails *int) *TroubleTeller {
	began := time.Now()
	return &TroubleTeller{ctx: ctx, send: func(_ context.Context, trouble errortype.Trouble) error {
		if *fails > 0 {
			*fails--
			return errors.New("the server is away")
		}
		*heard = append(*heard, told{time.Since(began), trouble.Type})
		return nil
	}}
}

func TestAnActivityThatDoesNotFailTellsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard []told
		teller := telling(t.Context(), &heard, new(int))
		for range 100 {
			teller.Tell(errortype.Trouble{})
			time.Sleep(time.Minute)
		}
		synctest.Wait()
		require.Empty(t, heard)
	})
	var nobody *TroubleTeller
	nobody.Tell(errortype.Trouble{Type: errortype.Throttled}) // of a workflow that does not listen
}

func TestTroubleThatComesAndGoesAllDayIsToldEverMoreRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard []told
		teller := telling(t.Context(), &heard, new(int))
		for n := range 24 * 60 * 6 {
			teller.Tell([]errortype.Trouble{{Type: errortype.Unavailable}, {}}[n/2%2])
			time.Sleep(10 * time.Second)
		}
		synctest.Wait()
		require.Equal(t, told{0, errortype.Unavailable}, heard[0])
		require.Less(t, len(heard), 25)
		for i := range heard[1:] {
			require.GreaterOrEqual(t, heard[i+1].at-heard[i].at, time.Minute)
			require.NotEqual(t, heard[i].what, heard[i+1].what)
		}
	})
}

func TestTheLastTroubleIsToldThoughTheServerIsAwayMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard []told
		fails := 2
		teller := telling(t.Context(), &heard, &fails)
		teller.Tell(errortype.Trouble{Type: errortype.Unavailable})
		time.Sleep(time.Second)
		teller.Tell(errortype.Trouble{Type: errortype.AccessDenied})
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Len(t, heard, 1)
		require.Equal(t, errortype.AccessDenied, heard[0].what)
	})
}
