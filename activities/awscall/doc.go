// Package awscall is what the activities of all AWS services share: how an error
// is classified, how a body is sent, and how long to wait between repeats.
package awscall
