package procgroup

import (
	"os"
	"sync"
	"syscall"
	"time"
)

// Limits bound a group.
type Limits struct {
	// Processes is how many processes with the group's mark there may be at once; 0: any number. The keeper counts every
	// 100 ms or so, and kills a group that has more; [Group.Overrun] says so. It counts nobody where there is no /proc.
	Processes int
}

// Group is a process that a Keeper started, and what that starts. Its methods are safe for concurrent use.
type Group struct {
	id     uint64
	limits Limits
	done   chan struct{}    // closed when the first process has ended
	state  *os.ProcessState // of the first process; written before done is closed

	mu      sync.Mutex
	first   *os.Process // nil until it was started
	over    bool        // the first process has been waited for: its id may be another's
	overrun bool        // it had more processes than its limits allow
}

// Done is closed when the first process has ended and its group was killed.
func (g *Group) Done() <-chan struct{} { return g.done }

// State tells how the first process ended. It must be called after Done is closed; it is nil if the process could not be
// waited for.
func (g *Group) State() *os.ProcessState { return g.state }

// Pid is the first process' id, and the group's.
func (g *Group) Pid() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.first.Pid
}

func (g *Group) begin(p *os.Process) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.first = p
}

// Overrun says that the group was killed because it had too many processes.
func (g *Group) Overrun() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.overrun
}

// Signal sends a signal to all of the group, while its first process lives. Processes in groups of their own do not get it.
func (g *Group) Signal(s syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.first != nil && !g.over {
		_ = syscall.Kill(-g.first.Pid, s) // it has ended, or the signal arrives
	}
}

// Kill ends the group by force. The kernel sees to it that Done is closed soon, and the keeper kills those that made sessions of
// their own.
func (g *Group) Kill() { g.Signal(syscall.SIGKILL) }

// Stop asks the group to end, by SIGTERM, and kills it if it has not after the grace. It waits neither for the one nor the other
// if the grace is 0. A process that was stopped is woken, so that it can end in order.
func (g *Group) Stop(grace time.Duration) {
	if grace > 0 {
		g.Signal(syscall.SIGTERM)
		g.Signal(syscall.SIGCONT)
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-g.done:
			return
		case <-timer.C:
		}
	}
	g.Kill()
}
