// Package duration gives lengths of time and deadlines the JSON form that a
// person types: "500ms", "1h30m", "2026-01-02T15:04:05Z". It owns no rule about
// what the lengths are for and reads no clock.
package duration

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a length of time that reads and writes strings such as "1m30s".
// A bare number is refused, since JSON says nothing about its unit; the error
// names the string that was probably meant. A negative length is refused.
type Duration time.Duration

// Std returns d as the standard library has it.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String writes d without units that are zero: "1h30m", not "1h30m0s".
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// MarshalJSON writes the string form.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON reads the string form. "" and null read as zero.
func (d *Duration) UnmarshalJSON(raw []byte) error {
	text, err := textOf(raw, "a duration")
	if err != nil {
		return err
	}
	return d.UnmarshalText([]byte(text))
}

// UnmarshalText reads the string form, so that flags and environment variables
// take the same spelling as documents.
func (d *Duration) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	if s == "" {
		*d = 0
		return nil
	}
	std, err := time.ParseDuration(s)
	if err != nil {
		if _, numErr := strconv.ParseFloat(s, 64); numErr == nil {
			return fmt.Errorf("%q has no unit; write %q", s, s+"s")
		}
		return fmt.Errorf("%q is not a duration; write one like \"30s\" or \"1h30m\"", s)
	}
	if std < 0 {
		return fmt.Errorf("%q is negative", s)
	}
	*d = Duration(std)
	return nil
}

// textOf returns the string in raw; a number is refused with what was meant.
func textOf(raw []byte, what string) (string, error) {
	trimmed := strings.TrimSpace(string(raw))
	if trimmed == "null" {
		return "", nil
	}
	if trimmed == "" || trimmed[0] != '"' {
		if _, err := strconv.ParseFloat(trimmed, 64); err == nil {
			return "", fmt.Errorf("%s is a string with a unit; write %q", what, trimmed+"s")
		}
		return "", fmt.Errorf("%s is a string like \"30s\"", what)
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", err
	}
	return s, nil
}
