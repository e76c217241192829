package shell

import (
	"errors"
	"strings"

	"go.temporal.io/sdk/temporal"
)

// OwnError takes the error of an activity out of what Temporal wraps it in, so
// that the workflow ends with its type.
func OwnError(err error) error {
	var application *temporal.ApplicationError
	if errors.As(err, &application) {
		return application
	}
	return err
}

// PlainError is the message of the error itself, without what Temporal says about
// where it happened.
func PlainError(err error) string {
	switch own := OwnError(err).(type) {
	case *temporal.ApplicationError:
		return own.Message()
	default:
		return own.Error()
	}
}

// FirstLine is a text up to its first line break.
func FirstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
