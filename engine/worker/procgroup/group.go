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

// Limits bound a group. Zero leaves a limit out.
type Limits struct {
	// Processes is how many processes with the group's mark there may be at once; 0: any number. The keeper counts every
	// 100 ms or so, which takes a twentieth of a processor at most, and kills a group that has more; [Group.Overrun] says so. It
	// counts nobody where there is no /proc.
	Processes int

	// Memory and OpenFiles are the system's limits of data, in bytes, and of open files, of each process of the group. They need the
	// program prlimit, which Linux systems have in util-linux, and hold where [Limits.Command] made the command.
	Memory, OpenFiles int64
}

// Check refuses limits below zero.
func (l Limits) Check() error {
	if l.Processes < 0 || l.Memory < 0 || l.OpenFiles < 0 {
		return errors.New("a limit is below zero; leave it out for none")
	}
	return nil
}

// Command gives the command that runs a program within the system's limits: the program's own, where there are none. It
// fails where there is no program to set them.
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
