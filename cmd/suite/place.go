package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"pulley/engine/pgserver"
	"pulley/internal/pause"
	"pulley/internal/procenv"
)

const markVariable = "PULLEY_SUITE_RUN"

const (
	endWithin    = 25 * time.Second       // for a command after SIGINT, and for what it left, such as a server's watchdog, before a kill
	pollPause    = 100 * time.Millisecond // between checks for remaining processes
	removeWithin = 10 * time.Second       // for the directory, into which something may still write
)

type workdir struct {
	dir     string   // for large files and devices
	fast    string   // for all else, in memory if possible: servers create and remove files by the thousand
	lock    *os.File // held while suite runs
	marker  string
	timeout time.Duration // for a command to end, and for what it left, before a kill
}

const (
	placePrefix = "pulley-suite-"
	lockName    = "lock"
)

// newWorkdir first removes directories of killed runs. Every account may enter: root's servers run under another account.
func newWorkdir() (*workdir, error) {
	removeAbandoned()
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails, by its contract
	p := placeOf(hex.EncodeToString(random[:]))
	if err := os.Mkdir(p.dir, 0o755); err != nil {
		return nil, fmt.Errorf("no directory for the tests: %w", err)
	}
	if err := errors.Join(os.Chmod(p.dir, 0o755), p.acquireLock(), os.MkdirAll(p.fast, 0o755), os.Chmod(p.fast, 0o755)); err != nil {
		return nil, errors.Join(fmt.Errorf("no directory for the tests: %w", err), os.RemoveAll(p.dir), os.RemoveAll(p.fast))
	}
	return p, nil
}

func placeOf(mark string) *workdir {
	name := placePrefix + mark
	p := &workdir{marker: mark, dir: filepath.Join(os.TempDir(), name), timeout: endWithin}
	p.fast = p.dir
	if memory := memoryDir(); memory != "" {
		p.fast = filepath.Join(memory, name)
	}
	return p
}

// acquireLock fails if the directory is locked. The kernel releases the lock with the process.
func (p *workdir) acquireLock() (err error) {
	if p.lock, err = os.OpenFile(filepath.Join(p.dir, lockName), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return err
	}
	return syscall.Flock(int(p.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// beingMade is the age up to which an unlocked directory counts as new.
const beingMade = time.Minute

// removeAbandoned removes the directories of killed runs.
func removeAbandoned() {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), placePrefix+"*")) // fails only for a malformed pattern
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err != nil || time.Since(info.ModTime()) < beingMade {
			continue
		}
		p := placeOf(strings.TrimPrefix(filepath.Base(dir), placePrefix))
		if p.acquireLock() != nil {
			continue // in use, or not ours
		}
		p.timeout = pollPause
		if err := p.leave(); err != nil {
			fmt.Fprintf(os.Stderr, "suite: a run that was killed left %s: %v\n", dir, err)
		}
	}
}

// connectTimeout is for servers on a machine that is too busy to let them answer within the ten seconds of users.
const connectTimeout = "PGCONNECT_TIMEOUT=120"

func (p *workdir) environment(more map[string]string) []string {
	env := append(os.Environ(), connectTimeout, "TMPDIR="+p.fast, "GOTMPDIR="+p.dir, "PULLEY_IMAGE_DIR="+p.dir,
		pgserver.ClustersVariable+"="+filepath.Join(p.fast, "clusters"), markVariable+"="+p.marker)
	for name, value := range more {
		env = append(env, name+"="+value)
	}
	return env
}

func (p *workdir) leave() error {
	err := p.endProcesses()
	err = errors.Join(err, p.unmount(), p.remove())
	_ = p.lock.Close() // useless without the directory
	return err
}

// endProcesses waits for the marked processes, and kills those that remain.
func (p *workdir) endProcesses() error {
	if p.await(p.timeout) {
		return nil
	}
	left := p.processes()
	for _, pid := range left {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have exited
	}
	if !p.await(endWithin) { // slow on a busy machine
		return fmt.Errorf("processes %v cannot be killed", p.processes())
	}
	return fmt.Errorf("processes %v did not end by themselves, and were killed", left)
}

func (p *workdir) await(within time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	for len(p.processes()) > 0 {
		if ctx.Err() != nil {
			return false
		}
		_ = pause.For(ctx, pollPause) // the loop checks ctx
	}
	return true
}

func (p *workdir) processes() []int {
	return slices.Sorted(maps.Keys(procenv.Find(markVariable+"="+p.marker, procenv.Settled)))
}

func (p *workdir) unmount() error {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil // not Linux: nothing is mounted
	}
	var points []string
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) > 4 && (strings.HasPrefix(fields[4], p.dir+"/") || strings.HasPrefix(fields[4], p.fast+"/")) {
			points = append(points, fields[4])
		}
	}
	slices.Sort(points)
	slices.Reverse(points)
	var errs []error
	for _, point := range points {
		if err := syscall.Unmount(point, 0); err != nil {
			errs = append(errs, fmt.Errorf("unmounting %s: %w", point, err))
		}
	}
	return errors.Join(errs...)
}

// remove retries, since a watchdog may remove files concurrently.
func (p *workdir) remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), removeWithin)
	defer cancel()
	for {
		err := errors.Join(os.RemoveAll(p.fast), os.RemoveAll(p.dir))
		if err == nil || ctx.Err() != nil {
			return err
		}
		_ = pause.For(ctx, pollPause) // the loop checks ctx
	}
}
