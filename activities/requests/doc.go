// Package requests looks after requests from outside: it finds and resumes the
// suspended ones and follows the workflows that a request has started.
package requests
