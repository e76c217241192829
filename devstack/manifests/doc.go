// Package manifests has the test of ops/kubernetes. It is here since Kubernetes' own types
// are to be in no program's module.
package manifests
