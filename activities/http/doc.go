// Package http calls the origins that the worker's configuration allows.
package http
