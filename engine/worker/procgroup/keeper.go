package procgroup

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"pulley/internal/pause"
	"pulley/internal/procenv"
	"pulley/internal/watchdog"
)

//go:embed watchdog.sh
var watchdogScript string

// Variable is the environment variable of the mark: the supervisor's tag, a dot, and the group's number.
const Variable = "PULLEY_PROCESS"

const (
	checkPause = 100 * time.Millisecond // least pause between checks for processes of ended groups, and for too many
	checkShare = 20                     // least pause in durations of a check
	checksMax  = 2                      // after a group ended: one check may miss a process that is executing another program
	endPause   = 10 * time.Millisecond  // between checks while all must end
)

var errClosed = errors.New("procgroup: the keeper of processes is closed")

// Supervisor starts groups, and ends what is left of them. It is safe for concurrent use.
type Supervisor struct {
	tag    string
	dog    *watchdog.Watchdog
	wake   chan struct{}
	cancel context.CancelFunc
	over   chan struct{} // closed when checking has ended

	starting sync.RWMutex // read-locked while a group is started, so that Close sees every started one

	mu     sync.Mutex
	groups map[uint64]*Group
	last   uint64
	checks int
	closed bool
}

// New makes a supervisor and starts its watchdog. Close ends both.
func New() (*Supervisor, error) {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails, by its contract
	ctx, cancel := context.WithCancel(context.Background())
	k := &Supervisor{
		tag: hex.EncodeToString(random[:]), wake: make(chan struct{}, 1), cancel: cancel,
		over: make(chan struct{}), groups: map[uint64]*Group{},
	}
	var err error
	if k.dog, err = watchdog.Start(watchdogScript, "PULLEY_MARK="+k.tag); err != nil {
		cancel()
		return nil, err
	}
	go k.check(ctx)
	return k, nil
}

// Tag begins the variable in the supervisor's processes, for searches in /proc.
func (k *Supervisor) Tag() string { return Variable + "=" + k.tag + "." }

// Start starts a program in its own group, with the mark in its environment. Files are passed directly, so that no child that
// keeps one open can delay the end; the caller may close them when Start returns.
func (k *Supervisor) Start(p Program, limits Limits) (*Group, error) {
	k.starting.RLock()
	defer k.starting.RUnlock()
	g := &Group{limits: limits, done: make(chan struct{})}
	if err := k.enter(g); err != nil {
		return nil, err
	}
	process, err := p.start(k.Tag() + strconv.FormatUint(g.id, 10))
	if err != nil {
		k.leave(g)
		return nil, err
	}
	g.begin(process)
	if limits.Processes > 0 {
		k.checkSoon()
	}
	// It ends with the process, which Close kills.
	go func() {
		g.awaitEnd()
		k.leave(g)
		close(g.done)
	}()
	return g, nil
}

func (k *Supervisor) enter(g *Group) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return errClosed
	}
	k.last++
	g.id = k.last
	k.groups[g.id] = g
	return nil
}

func (k *Supervisor) leave(g *Group) {
	k.mu.Lock()
	delete(k.groups, g.id)
	k.checks = checksMax
	k.mu.Unlock()
	k.checkSoon()
}

func (k *Supervisor) checkSoon() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

func (k *Supervisor) check(ctx context.Context) {
	defer close(k.over)
	rest := checkPause
	for {
		select {
		case <-k.wake:
		case <-ctx.Done():
			return
		}
		if pause.For(ctx, rest) != nil {
			return
		}
		begun := time.Now()
		k.clear(procenv.Glance)
		rest = max(checkPause, checkShare*time.Since(begun))
		if k.again() {
			k.checkSoon()
		}
	}
}

func (k *Supervisor) again() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.checks--; k.checks > 0 {
		return true
	}
	for _, g := range k.groups {
		if g.limits.Processes > 0 {
			return true
		}
	}
	return false
}

// clear kills the processes of ended groups, and groups with too many processes. It returns the number of processes to kill.
func (k *Supervisor) clear(tries int) int {
	counts := map[uint64]int{}
	var escaped []int
	for pid, variable := range procenv.Find(k.Tag(), tries) {
		id, err := strconv.ParseUint(strings.TrimPrefix(variable, k.Tag()), 10, 64)
		if err != nil || k.group(id) == nil {
			escaped = append(escaped, pid)
			continue
		}
		counts[id]++
	}
	for _, pid := range escaped {
		k.kill(pid)
	}
	for id, n := range counts {
		if g := k.group(id); g != nil && g.limits.Processes > 0 && n > g.limits.Processes {
			g.mu.Lock()
			g.overrun = true
			g.mu.Unlock()
			g.Kill()
		}
	}
	if len(escaped) > 0 {
		k.mu.Lock()
		k.checks = checksMax + 1 // they may have started children since
		k.mu.Unlock()
	}
	return len(escaped)
}

func (k *Supervisor) group(id uint64) *Group {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.groups[id]
}

func (k *Supervisor) kill(pid int) {
	p, err := os.FindProcess(pid) // on Linux a handle that is immune to id reuse
	if err != nil {
		return
	}
	defer func() { _ = p.Release() }()
	if _, marked := procenv.Of(pid, k.Tag(), procenv.Glance); marked {
		_ = p.Signal(syscall.SIGKILL) // it has ended, or receives the signal
	}
}

// Close kills all groups and what is left of ended ones, and ends the watchdog. No process is left when it returns, unless ctx
// ended before: then the watchdog continues, and the error says so. Closing twice is safe.
func (k *Supervisor) Close(ctx context.Context) error {
	started, first := k.shut()
	if !first {
		return nil
	}
	k.cancel()
	<-k.over
	err := k.end(ctx, started)
	if err != nil {
		err = fmt.Errorf("procgroup: processes that were started did not all end in time: %w", err)
	}
	word := ""
	if err == nil {
		word = "done" // otherwise the watchdog checks for leftovers
	}
	return errors.Join(err, k.dog.Release(ctx, word))
}

func (k *Supervisor) shut() (started []*Group, first bool) {
	k.starting.Lock()
	defer k.starting.Unlock()
	k.mu.Lock()
	defer k.mu.Unlock()
	first, k.closed = !k.closed, true
	return slices.Collect(maps.Values(k.groups)), first
}

func (k *Supervisor) end(ctx context.Context, started []*Group) error {
	for _, g := range started {
		g.Kill()
	}
	for _, g := range started {
		select {
		case <-g.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	for range pause.Tries(ctx, endPause) {
		if k.clear(procenv.Settled) == 0 {
			return nil
		}
	}
	return context.Cause(ctx)
}
