// Package secret takes the secrets that a program knows itself out of whatever it
// is about to tell. A program adds each as it learns of it; any form in which it may
// come back, from an origin that echoes a header, is then concealed by value.
package secret

import (
	"encoding/base64"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Redacted stands in the place of a secret.
const Redacted = "[redacted]"

const (
	// shortest keeps what is no secret by its length from being looked for in all
	// text.
	shortest = 6
	// most bounds what is remembered: credentials that are renewed every hour are
	// other ones each time.
	most = 2048
)

var (
	known struct { //nolint:gochecknoglobals // a process has its secrets once
		sync.Mutex
		forms  []string            // in the order of their coming
		values map[string]struct{} // whose forms these are; forgotten with them
	}
	replacer atomic.Pointer[strings.Replacer] //nolint:gochecknoglobals // of what is known
)

// Add makes values known. One of several words, such as an Authorization header, is
// known by its words too; one of a connection string by its keys.
//
// The credentials of every call are added; those that are known already cost next to
// nothing.
func Add(values ...string) {
	known.Lock()
	defer known.Unlock()
	var forms []string
	for _, value := range values {
		if _, ok := known.values[value]; !ok {
			forms = append(forms, formsOf(value)...)
		}
	}
	if len(forms) == 0 {
		return
	}
	for _, form := range forms {
		if len(form) >= shortest && !slices.Contains(known.forms, form) {
			known.forms = append(known.forms, form)
		}
	}
	if excess := len(known.forms) - most; excess > 0 || known.values == nil {
		known.forms, known.values = known.forms[max(0, excess):], map[string]struct{}{}
	}
	for _, value := range values {
		known.values[value] = struct{}{}
	}
	longestFirst := slices.Clone(known.forms)
	slices.SortStableFunc(longestFirst, func(a, b string) int { return len(b) - len(a) })
	pairs := make([]string, 0, 2*len(longestFirst))
	for _, form := range longestFirst {
		pairs = append(pairs, form, Redacted)
	}
	replacer.Store(strings.NewReplacer(pairs...))
}

// AddConnectionString makes the secret parts of a connection string known.
func AddConnectionString(text string) {
	for _, part := range strings.Split(text, ";") {
		name, value, _ := strings.Cut(part, "=")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "accountkey", "sharedaccesssignature":
			Add(strings.TrimSpace(value))
		}
	}
}

// Conceal is text without the known secrets.
func Conceal(text string) string {
	if r := replacer.Load(); r != nil {
		return r.Replace(text)
	}
	return text
}

// formsOf is how a secret may be written: as it is, its credential behind a scheme,
// what that says in base64, and each of these in whatever form an echo may have it.
func formsOf(value string) []string {
	value = strings.TrimSpace(value)
	plain := []string{value}
	if scheme, credential, ok := strings.Cut(value, " "); ok {
		plain = append(plain, strings.TrimSpace(credential))
		if strings.EqualFold(scheme, "basic") {
			plain = append(plain, decoded(credential)...)
		}
	}
	var forms []string
	for _, text := range plain {
		forms = append(forms, Forms(text)...)
	}
	return forms
}

// decoded is user:password of Basic credentials, and the password.
func decoded(credential string) []string {
	text, err := base64.StdEncoding.DecodeString(strings.TrimSpace(credential))
	if err != nil {
		return nil
	}
	_, password, _ := strings.Cut(string(text), ":")
	return []string{string(text), password}
}

// Writer writes to w without the known secrets. What it gets at a time is a line.
func Writer(w io.Writer) io.Writer { return writer{w} }

type writer struct{ below io.Writer }

func (w writer) Write(line []byte) (int, error) {
	if _, err := io.WriteString(w.below, Conceal(string(line))); err != nil {
		return 0, err
	}
	return len(line), nil
}
