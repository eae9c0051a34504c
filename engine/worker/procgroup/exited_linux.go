package procgroup

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// awaitEnd waits for the first process, and then kills the rest of its group. Until then the process stays a zombie, so that
// its id, which is the group's, is not reused.
func (g *Group) awaitEnd() {
	for {
		err := unix.Waitid(unix.P_PID, g.Pid(), nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	g.Signal(syscall.SIGKILL)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.state, _ = g.first.Wait() // a nil state suffices
	g.over = true
}
