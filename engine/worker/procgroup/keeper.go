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

// Variable is the environment variable that has the mark: the keeper's, a dot, and the number of the group.
const Variable = "PULLEY_PROCESS"

const (
	checkPause = 100 * time.Millisecond // at least between two looks for processes whose group has ended, or that are too many
	checkShare = 20                     // and so many times as long as a look takes
	checksMax  = 2                      // after a group ended: a process that begins another program may be missed by one
	endPause   = 10 * time.Millisecond  // between looks while all are to end
)

var errClosed = errors.New("procgroup: the keeper of processes is closed")

// Supervisor starts groups, and ends what is left of them. It is safe for concurrent use.
type Supervisor struct {
	tag    string
	dog    *watchdog.Watchdog
	wake   chan struct{} // has room for one
	cancel context.CancelFunc
	over   chan struct{} // closed when nobody looks for processes any more

	starting sync.RWMutex // held for reading while a group is started, so that Close sees those that were

	mu     sync.Mutex
	groups map[uint64]*Group // that were started and have not ended
	last   uint64            // number of a group
	checks int               // that are still to be taken
	closed bool
}

// New makes a keeper and starts its watchdog. Close ends both.
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

// Tag is what the variable of the keeper's processes begins with, such as for a search in /proc.
func (k *Supervisor) Tag() string { return Variable + "=" + k.tag + "." }

// Start starts a program in a group of its own, with the mark in its environment. Nothing is copied between files, so that no child
// that keeps one open can hold up the end; the caller may close the files when Start returns.
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
	// This goroutine ends with the process, which Close kills.
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
	default: // it is to look already
	}
}

// check looks for processes while there may be some to kill.
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

// again says whether there is a reason to look once more.
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

// clear kills the processes whose group has ended, and groups with too many processes. It gives how many processes it found
// that were to be killed.
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
		k.checks = checksMax + 1 // they may have had children meanwhile
		k.mu.Unlock()
	}
	return len(escaped)
}

func (k *Supervisor) group(id uint64) *Group {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.groups[id]
}

// kill kills a process if it still has the mark.
func (k *Supervisor) kill(pid int) {
	p, err := os.FindProcess(pid) // on Linux it stays that process, whoever gets its id later
	if err != nil {
		return
	}
	defer func() { _ = p.Release() }()
	if _, marked := procenv.Of(pid, k.Tag(), procenv.Glance); marked {
		_ = p.Signal(syscall.SIGKILL) // it has ended, or the signal arrives
	}
}

// Close kills all groups and what is left of groups that ended, and ends the watchdog. No process is left when it returns, unless
// ctx ended before: then the watchdog goes on, and the error says so. Closing twice is safe.
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
		word = "done" // without it, the watchdog looks by itself for what is left
	}
	return errors.Join(err, k.dog.Release(ctx, word))
}

// shut lets nothing be started any more, and gives what was. It says whether it is the first to do so.
func (k *Supervisor) shut() (started []*Group, first bool) {
	k.starting.Lock()
	defer k.starting.Unlock()
	k.mu.Lock()
	defer k.mu.Unlock()
	first, k.closed = !k.closed, true
	return slices.Collect(maps.Values(k.groups)), first
}

// end ends the groups, and waits until nobody has the mark.
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
