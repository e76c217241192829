package wire

import (
	"encoding/json"
	"errors"
	"regexp"
)

// TriggerInput is the input of HTTP.Trigger.
type TriggerInput struct {
	URL            string          `json:"url"`
	Method         string          `json:"method"`
	Auth           string          `json:"auth"`
	Body           json.RawMessage `json:"body"`
	IdempotencyKey string          `json:"idempotencyKey"`
}

// CheckAuth tells what is wrong with the name of credentials; "" names none.
func CheckAuth(name string) error {
	if name != "" && !authName.MatchString(name) {
		return errors.New(`not the name of credentials: "deploy" stands for the worker's SLUICE_HTTP_AUTH_DEPLOY`)
	}
	return nil
}

// authName is what can end the name of an environment variable.
var authName = regexp.MustCompile(`^[A-Za-z0-9_]{1,100}$`)

// TellInput is an update to send; where FirstRunID is told, to no other workflow of
// that ID than the one that began with it.
type TellInput struct {
	WorkflowID string          `json:"workflowId"`
	FirstRunID string          `json:"firstRunId,omitempty"`
	Update     string          `json:"update"`
	Input      json.RawMessage `json:"input"`
}
