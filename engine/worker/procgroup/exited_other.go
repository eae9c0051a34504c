//go:build !linux

package procgroup

import "syscall"

// awaitEnd waits for the first process, and kills the rest of its group, whose id is not reused so soon.
func (g *Group) awaitEnd() {
	g.state, _ = g.first.Wait() // a nil state suffices
	g.Signal(syscall.SIGKILL)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.over = true
}
