//go:build !linux

package procgroup

import "syscall"

// awaitEnd waits for the first process, and kills what it leaves of its group, whose id nobody gets so soon.
func (g *Group) awaitEnd() {
	g.state, _ = g.first.Wait() // a state that is nil says enough
	g.Signal(syscall.SIGKILL)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.over = true
}
