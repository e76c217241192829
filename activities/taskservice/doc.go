// Package taskservice asks the service that decides who works on which task.
package taskservice
