//go:build !linux

package process

import (
	"os"
	"syscall"
)

// newPipe makes a pipe that no other program inherits.
func newPipe() (reader, writer int, err error) {
	var ends [2]int
	syscall.ForkLock.RLock() // nothing is started between the two calls
	defer syscall.ForkLock.RUnlock()
	if err := syscall.Pipe(ends[:]); err != nil {
		return -1, -1, os.NewSyscallError("pipe", err)
	}
	syscall.CloseOnExec(ends[0])
	syscall.CloseOnExec(ends[1])
	return ends[0], ends[1], nil
}
