package taskmessage

import (
	"errors"
	"net/url"
)

// CheckService reports why s cannot be the base URL of a task service. Its
// errors do not quote s, which may hold what should not be shown.
func CheckService(s string) error {
	u, err := url.Parse(s)
	switch {
	case s == "":
		return errors.New("required")
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return errors.New("not an http or https URL")
	case u.User != nil:
		return errors.New("must not hold credentials: the token is SLUICE_TASK_SERVICE_TOKEN")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("must not have a query or a fragment")
	default:
		return nil
	}
}
