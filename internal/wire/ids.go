package wire

import (
	"fmt"
	"strings"
)

// QueueName is the last element of a queue's URL.
func QueueName(url string) string { return url[strings.LastIndex(url, "/")+1:] }

// TaskID is the workflow ID of a run of a task.
func TaskID(taskID string, runID int64) string { return fmt.Sprintf("task/%s/%d", taskID, runID) }
