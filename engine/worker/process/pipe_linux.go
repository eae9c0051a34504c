package process

import (
	"os"
	"syscall"
)

// newPipe makes a pipe that no other program inherits.
func newPipe() (reader, writer int, err error) {
	var ends [2]int
	if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC); err != nil {
		return -1, -1, os.NewSyscallError("pipe2", err)
	}
	return ends[0], ends[1], nil
}
