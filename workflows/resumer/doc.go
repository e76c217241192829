// Package resumer resumes every suspended request, once.
package resumer
