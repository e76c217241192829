package shell

import (
	"encoding/json"

	"go.temporal.io/sdk/temporal"
)

// Detail reads a checkpoint; nil where there is none or it is not JSON.
func Detail(has bool, read func(...any) error) json.RawMessage {
	var raw json.RawMessage
	if !has || read(&raw) != nil || !json.Valid(raw) {
		return nil
	}
	return raw
}

// CheckpointIn is the checkpoint of an error made by activities.Fail, which holds
// it second.
func CheckpointIn(err *temporal.ApplicationError) json.RawMessage {
	return Detail(err.HasDetails(), func(v ...any) error {
		var first json.RawMessage
		return err.Details(append([]any{&first}, v...)...)
	})
}
