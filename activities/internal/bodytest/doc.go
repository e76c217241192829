// Package bodytest looks, for tests, at how a request's body is sent.
package bodytest
