// Package task runs the work of one claimed task, keeps its claim and tells its
// outcome.
package task
