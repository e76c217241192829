package jobchain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestGateRefusesWhatTheStateDoesNotAllow(t *testing.T) {
	g := Gate{State: Running}
	_, _, err := g.TakeClaim(start, "me", 0, time.Minute)
	require.EqualError(t, err, "can't claim: the request is RUNNING")
	already, err := g.Suspend(start, "why", time.Hour, time.Second)
	require.NoError(t, err)
	require.False(t, already)
	already, err = g.Suspend(start.Add(time.Second), "again", time.Second, 0)
	require.NoError(t, err)
	require.True(t, already)
	require.Equal(t, "why", g.Reason)
	require.Equal(t, start.Add(time.Hour), g.ResumeBy)
}

func TestGateClaims(t *testing.T) {
	g := Gate{State: Running}
	_, err := g.Suspend(start, "", 0, 0)
	require.NoError(t, err)
	require.Zero(t, g.ResumeBy, "0 never expires")
	one, ok, err := g.TakeClaim(start, "one", 0, time.Minute)
	require.NoError(t, err)
	require.True(t, ok)
	held, ok, err := g.TakeClaim(start, "two", 0, time.Minute)
	require.NoError(t, err)
	require.False(t, ok)
	require.Equal(t, "one", held.Holder)
	_, ok, _ = g.TakeClaim(start, "one", 0, time.Minute)
	require.False(t, ok, "the same name without the token may be another")
	extended, ok, err := g.TakeClaim(start.Add(30*time.Second), "one", one.Token, time.Minute)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, start.Add(90*time.Second), extended.ExpiresAt)

	_, err = g.Resume(start, "two", 0)
	require.Error(t, err)
	require.Error(t, g.ReleaseClaim(start, "two", 0, false))
	require.NoError(t, g.ReleaseClaim(start, "two", 0, true))

	two, _, err := g.TakeClaim(start, "two", 0, time.Second)
	require.NoError(t, err)
	require.Equal(t, int64(2), two.Token)
	late := start.Add(time.Second) // the lease is over in this very instant
	_, _, err = g.TakeClaim(late, "two", two.Token, time.Second)
	require.Error(t, err, "a claim that ran out is not extended")
	_, err = g.Resume(late, "two", two.Token)
	require.EqualError(t, err, "can't resume: the request is SUSPENDED and token 2 is stale: its claim has ended; claim again, or resume without a token")
	already, err := g.Resume(late, "anybody", 0)
	require.NoError(t, err)
	require.False(t, already)
	require.Zero(t, g.Claim)
	already, err = g.Resume(late, "two", 2)
	require.NoError(t, err)
	require.True(t, already)
}

func TestGateDeadlinesCountBeforeMessages(t *testing.T) {
	g := Gate{State: Running, DeadlineAt: start.Add(time.Hour)}
	_, err := g.Suspend(start, "", 10*time.Second, 0)
	require.NoError(t, err)
	require.Equal(t, start.Add(10*time.Second), g.WakeAt())
	g.Pass(start.Add(10*time.Second - 1))
	require.Equal(t, Suspended, g.State)
	g.Pass(start.Add(10 * time.Second))
	require.Equal(t, Fail, g.State)
	require.Equal(t, ByTTL, g.Cause)
	require.Zero(t, g.SuspendedAt)
	require.Zero(t, g.ResumeBy)
	_, err = g.Resume(start.Add(10*time.Second), "", 0)
	var refusal *Refusal
	require.ErrorAs(t, err, &refusal)
	require.True(t, refusal.Expired)
	require.Error(t, g.Stop(start, ByStop, "", 0), "the outcome is decided")
	g.Finish(start, Complete, "")
	require.Equal(t, Fail, g.State)
}

// TestGateHasOneOutcome throws messages and time at a gate in any order: an
// answer never disagrees with what the gate then is, and a decided outcome
// stays.
func TestGateHasOneOutcome(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := Gate{State: Running}
		if rapid.Bool().Draw(t, "deadline") {
			g.DeadlineAt = start.Add(time.Duration(rapid.IntRange(1, 60).Draw(t, "at")) * time.Second)
		}
		now := start
		var ended State
		t.Repeat(map[string]func(*rapid.T){
			"time": func(t *rapid.T) { now = now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "s")) * time.Second) },
			"suspend": func(t *rapid.T) {
				g.Pass(now)
				before := g
				already, err := g.Suspend(now, "r", time.Duration(rapid.IntRange(0, 15).Draw(t, "ttl"))*time.Second, 0)
				switch {
				case err != nil:
					require.True(t, before.Ended())
				case already:
					require.Equal(t, before, g)
				default:
					require.Equal(t, Suspended, g.State)
					require.Equal(t, Running, before.State)
				}
			},
			"resume": func(t *rapid.T) {
				g.Pass(now)
				before := g
				already, err := g.Resume(now, rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "holder"), rapid.Int64Range(0, 3).Draw(t, "token"))
				switch {
				case err != nil:
					require.Equal(t, before, g)
					require.True(t, before.Ended() || before.State == Suspended)
				case already:
					require.Equal(t, before, g)
				default:
					require.Equal(t, Running, g.State)
					require.False(t, !before.ResumeBy.IsZero() && !now.Before(before.ResumeBy), "resumed after it had expired")
				}
			},
			"claim": func(t *rapid.T) {
				g.Pass(now)
				before := g
				claim, ok, err := g.TakeClaim(now, rapid.SampledFrom([]string{"a", "b"}).Draw(t, "holder"), rapid.Int64Range(0, 3).Draw(t, "token"), 10*time.Second)
				if err == nil && ok {
					require.True(t, claim.Live(now))
					require.True(t, !before.Claim.Live(now) || before.Claim.Token == claim.Token, "a live claim was taken over")
				}
			},
			"unclaim": func(t *rapid.T) {
				g.Pass(now)
				_ = g.ReleaseClaim(now, "a", rapid.Int64Range(0, 3).Draw(t, "token"), rapid.Bool().Draw(t, "force"))
			},
			"stop": func(t *rapid.T) {
				g.Pass(now)
				if g.Stop(now, ByStop, "", time.Second) == nil {
					require.Equal(t, Stopped, g.State)
				}
			},
			"": func(t *rapid.T) {
				if ended != "" {
					require.Equal(t, ended, g.State)
				}
				if g.Ended() {
					ended = g.State
				}
				require.Equal(t, g.State == Suspended, !g.SuspendedAt.IsZero())
				require.True(t, g.State == Suspended || (g.ResumeBy.IsZero() && g.Claim == Claim{}))
			},
		})
	})
}
