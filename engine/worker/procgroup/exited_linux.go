package procgroup

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// awaitEnd waits for the first process, and kills what it leaves of its group. Until it has done so, the process stays a zombie:
// nobody else can have its id, which is the group's.
func (g *Group) awaitEnd() {
	for {
		err := unix.Waitid(unix.P_PID, g.Pid(), nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break // any other error is one of the wait that follows, too
		}
	}
	g.Signal(syscall.SIGKILL)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.state, _ = g.first.Wait() // a state that is nil says enough
	g.over = true
}
