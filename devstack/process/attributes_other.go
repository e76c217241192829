//go:build !linux

package process

import "syscall"

// Only Linux can bind a child's life to its parent's; elsewhere a parent that is
// killed leaves its children.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
