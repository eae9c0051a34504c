package procgroup

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Limits bound a group. Zero is no limit.
type Limits struct {
	// Processes bounds the processes with the group's mark. The supervisor counts every 100 ms or so, at a cost of up to a
	// twentieth of a processor, and kills a group that has more; see [Group.Overrun]. Without /proc it counts none.
	Processes int

	// Memory and OpenFiles are system limits on data, in bytes, and on open files, for each process of the group. They need the
	// program prlimit, in Linux' util-linux, and apply if [Limits.Command] made the command.
	Memory, OpenFiles int64
}

// Check rejects negative limits.
func (l Limits) Check() error {
	if l.Processes < 0 || l.Memory < 0 || l.OpenFiles < 0 {
		return errors.New("a limit is below zero; leave it out for none")
	}
	return nil
}

// Command returns the command that runs a program within the system limits: the program's own, if there are none. It fails
// without a program to set them.
func (l Limits) Command(argv []string) ([]string, error) {
	var arguments []string
	for _, limit := range []struct {
		option string
		most   int64
	}{{"--data=", l.Memory}, {"--nofile=", l.OpenFiles}} {
		if limit.most > 0 {
			arguments = append(arguments, limit.option+strconv.FormatInt(limit.most, 10))
		}
	}
	if len(arguments) == 0 {
		return argv, nil
	}
	prlimit, err := exec.LookPath("prlimit")
	if err != nil {
		return nil, errors.New("limits of memory and open files need the program prlimit; install util-linux, or leave them out")
	}
	return slices.Concat([]string{prlimit}, arguments, []string{"--"}, argv), nil
}

// Group is a process started by a Supervisor, with its descendants. Its methods are safe for concurrent use.
type Group struct {
	id     uint64
	limits Limits
	done   chan struct{}    // closed when the first process has ended
	state  *os.ProcessState // the first process's; written before done is closed

	mu      sync.Mutex
	first   *os.Process
	over    bool // the first process has been waited for: its id may be reused
	overrun bool
}

// Done is closed when the first process has ended and its group was killed.
func (g *Group) Done() <-chan struct{} { return g.done }

// State returns how the first process ended; nil if unknown. It must be called after Done is closed.
func (g *Group) State() *os.ProcessState { return g.state }

// Pid is the id of the first process, and of the group.
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

// Overrun reports whether the group was killed for having too many processes.
func (g *Group) Overrun() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.overrun
}

// Signal sends a signal to the group, while its first process runs. Processes in other groups do not receive it.
func (g *Group) Signal(s syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.first != nil && !g.over {
		_ = syscall.Kill(-g.first.Pid, s) // it has ended, or receives the signal
	}
}

// Kill kills the group. Done is closed soon, and the supervisor kills processes in other sessions.
func (g *Group) Kill() { g.Signal(syscall.SIGKILL) }

// Stop sends SIGTERM to the group, and kills it after the grace, at once if that is 0. It also continues a stopped process, so
// that it can end normally.
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
