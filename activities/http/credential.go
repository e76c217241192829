package http

import (
	"net/url"
	"strings"

	"sluice/internal/secret"
)

// A credential is an Authorization header and the origins that may get it; none are
// all that the worker calls.
type credential struct {
	header  string
	origins []string
}

// parseCredential reads "[origin …] header", and makes the header known for a secret.
func parseCredential(text string) (c credential) {
	for text = strings.TrimSpace(text); ; {
		word, rest, more := strings.Cut(text, " ")
		u, err := url.Parse(word)
		if !more || err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			break
		}
		c.origins, text = append(c.origins, originOf(u)), strings.TrimSpace(rest)
	}
	c.header = text
	secret.Add(c.header)
	return c
}

func (c credential) goesTo(origin string) bool {
	for _, o := range c.origins {
		if o == origin {
			return true
		}
	}
	return len(c.origins) == 0
}
