package jobchain

import "time"

// Claim is the right of one holder to resume a suspended request, until its
// lease runs out. The token tells one claim from all others, also from those of
// a holder of the same name.
type Claim struct {
	Holder    string    `json:"holder"`
	Token     int64     `json:"token"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// Live reports that the claim holds at now.
func (c Claim) Live(now time.Time) bool { return c.Token != 0 && now.Before(c.ExpiresAt) }

// TakeClaim claims the request for a lease, or extends the claim whose token is
// given. It returns the claim that holds then, and whether it is the asker's.
func (g *Gate) TakeClaim(now time.Time, holder string, token int64, lease time.Duration) (Claim, bool, error) {
	if g.State != Suspended {
		return Claim{}, false, g.refusal("claim")
	}
	live := g.Claim.Live(now)
	switch {
	case live && token == g.Claim.Token && holder == g.Claim.Holder:
		g.Claim.ExpiresAt = now.Add(lease)
	case live:
		return g.Claim, false, nil
	case token != 0:
		return Claim{}, false, conflict("can't extend the claim with token %d: it has run out", token)
	default:
		g.LastToken++
		g.Claim = Claim{Holder: holder, Token: g.LastToken, ExpiresAt: now.Add(lease)}
	}
	return g.Claim, true, nil
}

// ReleaseClaim ends a claim; force ends anybody's. Where there is none, there is
// nothing to do.
func (g *Gate) ReleaseClaim(now time.Time, holder string, token int64, force bool) error {
	if g.Ended() {
		return g.refusal("unclaim")
	}
	if !force && g.Claim.Live(now) {
		if err := g.mayAct("unclaim", now, holder, token); err != nil {
			return err
		}
	}
	g.Claim = Claim{}
	return nil
}

// mayAct refuses who acts under another's claim or with a token that is no
// longer that of the claim. A holder who gives no token is known by its name.
func (g *Gate) mayAct(verb string, now time.Time, holder string, token int64) error {
	live := g.Claim.Live(now)
	switch {
	case live && token == 0 && holder == g.Claim.Holder && holder != "":
		return nil
	case live && token == g.Claim.Token && (holder == "" || holder == g.Claim.Holder):
		return nil
	case live && token != 0 && token != g.Claim.Token:
		return conflict("can't %s: the request is %s and claimed by %q until %s; token %d is not that of this claim", verb, g.State, g.Claim.Holder, stamp(g.Claim.ExpiresAt), token)
	case live:
		return conflict("can't %s: the request is %s and claimed by %q until %s", verb, g.State, g.Claim.Holder, stamp(g.Claim.ExpiresAt))
	case token != 0:
		return conflict("can't %s: the request is %s and token %d is stale: its claim has ended; claim again, or %s without a token", verb, g.State, token, verb)
	default:
		return nil
	}
}
