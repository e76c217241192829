package guard

import (
	"crypto/sha256"
	"sync"
	"time"
)

// tokenAge is how long the service remembers a ClientRequestToken.
const tokenAge = 10 * time.Minute

// tokens make TransactWriteItems idempotent.
type tokens struct {
	mu    sync.Mutex
	known map[string]*tokenUse
}

type tokenUse struct {
	request [sha256.Size]byte
	done    bool
	used    []consumed // what repeating it is told to have consumed
	at      time.Time
}

func newTokens() *tokens { return &tokens{known: map[string]*tokenUse{}} }

// begin answers how a token was used before, nil if this is its first use, which
// is then in progress until end.
func (t *tokens) begin(token string, request [sha256.Size]byte, now time.Time) *tokenUse {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, use := range t.known {
		if use.done && now.Sub(use.at) > tokenAge {
			delete(t.known, name)
		}
	}
	if use := t.known[token]; use != nil {
		before := *use
		return &before
	}
	t.known[token] = &tokenUse{request: request, at: now}
	return nil
}

// end keeps a token whose transaction was carried out and forgets another's.
func (t *tokens) end(token string, done bool, used []consumed, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !done {
		delete(t.known, token)
		return
	}
	use := t.known[token]
	use.done, use.used, use.at = true, used, now
}
