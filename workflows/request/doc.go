// Package request runs a chain of jobs that can be suspended, resumed, claimed,
// stopped and expired. What a message or an end changes is internal/jobchain's; here
// is what Temporal has to do with it: activities, children, timers, messages.
package request
