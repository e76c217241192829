package jmespath

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// kind is what a token is; the punctuation's is its own text.
type kind string

const (
	endOfText   kind = "the end"
	number      kind = "a number"
	name        kind = "a name"
	quotedName  kind = "a quoted name"
	rawString   kind = "a string"
	jsonLiteral kind = "a literal"
)

// token is a word of an expression. at is where it begins, in bytes.
type token struct {
	kind kind
	text string // decoded
	at   int
}

// punctuation has the longer of two that begin alike first.
var punctuation = []kind{"[?", "[]", "||", "&&", "!=", "<=", ">=", "==",
	"[", "]", "{", "}", "(", ")", ".", ",", ":", "*", "@", "|", "&", "!", "<", ">"}

// lexer splits an expression into tokens.
type lexer struct {
	text string
	at   int
}

// tokens are all of them, with endOfText at the end.
func tokens(text string) ([]token, error) {
	l := lexer{text: text}
	var all []token
	for {
		t, err := l.next()
		if err != nil {
			return nil, err
		}
		all = append(all, t)
		if t.kind == endOfText {
			return all, nil
		}
	}
}

func (l *lexer) next() (token, error) {
	for l.at < len(l.text) && strings.IndexByte(" \t\r\n", l.text[l.at]) >= 0 {
		l.at++
	}
	if l.at == len(l.text) {
		return token{kind: endOfText, at: l.at}, nil
	}
	switch c := l.text[l.at]; {
	case startsName(c):
		return l.take(name, func(c byte) bool { return startsName(c) || isDigit(c) }), nil
	case isDigit(c), c == '-':
		return l.take(number, isDigit), nil
	case c == '"':
		return l.quoted(c, quotedName, decodeName)
	case c == '\'':
		return l.quoted(c, rawString, func(s string) (string, error) { return strings.ReplaceAll(s, `\'`, `'`), nil })
	case c == '`':
		return l.quoted(c, jsonLiteral, func(s string) (string, error) { return strings.ReplaceAll(s, "\\`", "`"), nil })
	}
	for _, p := range punctuation {
		if strings.HasPrefix(l.text[l.at:], string(p)) {
			l.at += len(p)
			return token{kind: p, at: l.at - len(p)}, nil
		}
	}
	unknown, _ := utf8.DecodeRuneInString(l.text[l.at:])
	return token{}, &SyntaxError{At: l.at, Message: fmt.Sprintf("unexpected %q", unknown)}
}

// take reads one byte and those after it that belong to it.
func (l *lexer) take(k kind, belongs func(byte) bool) token {
	start := l.at
	for l.at++; l.at < len(l.text) && belongs(l.text[l.at]); l.at++ {
	}
	return token{kind: k, text: l.text[start:l.at], at: start}
}

// quoted reads what stands between two quotes. A backslash takes the character
// after it along.
func (l *lexer) quoted(quote byte, k kind, decode func(string) (string, error)) (token, error) {
	start := l.at
	for l.at++; l.at < len(l.text) && l.text[l.at] != quote; l.at++ {
		if l.text[l.at] == '\\' {
			l.at++
		}
	}
	if l.at >= len(l.text) {
		l.at = len(l.text)
		return token{}, &SyntaxError{At: start, Message: fmt.Sprintf("%s without its closing %c", k, quote)}
	}
	l.at++
	text, err := decode(l.text[start+1 : l.at-1])
	if err != nil {
		return token{}, &SyntaxError{At: start, Message: fmt.Sprintf("%s that is none: %v", k, err)}
	}
	return token{kind: k, text: text, at: start}, nil
}

func decodeName(text string) (decoded string, err error) {
	err = json.Unmarshal([]byte(`"`+text+`"`), &decoded)
	return decoded, err
}

func startsName(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
