package taskmessage

import (
	"fmt"
	"regexp"
	"strings"
)

// MaxQueueName is the longest name of a queue. Source: "Naming queues and
// metadata" of Azure's REST reference, as is the rest of CheckQueueName.
const MaxQueueName = 63

// PoisonSuffix makes the name of a queue's poison queue.
const PoisonSuffix = "-poison"

var queueName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$`)

// CheckQueueName tells what is wrong with the name of an Azure queue.
func CheckQueueName(name string) error {
	if !queueName.MatchString(name) || strings.Contains(name, "--") {
		return fmt.Errorf("%q is no name of an Azure queue: 3 to %d lower-case letters, digits and single hyphens", shorten(name, 100), MaxQueueName)
	}
	return nil
}

// CheckPoisonedBy tells whether a queue's name leaves room for its poison queue's.
func CheckPoisonedBy(name string) error {
	if most := MaxQueueName - len(PoisonSuffix); len(name) > most {
		return fmt.Errorf("its poison queue %s%s would have %d characters, more than Azure's %d: name another one, or shorten it to %d",
			name, PoisonSuffix, len(name)+len(PoisonSuffix), MaxQueueName, most)
	}
	return nil
}
