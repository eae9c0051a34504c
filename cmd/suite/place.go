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

// markVariable marks the processes of a run of suite, so that none is left behind.
const markVariable = "PULLEY_SUITE_RUN"

// Bounds of ending what was started.
const (
	endWithin    = 25 * time.Second       // for a command after SIGINT, and for what it left, such as a server's watchdog, before it is killed
	pollPause    = 100 * time.Millisecond // between looks for what is left
	removeWithin = 10 * time.Second       // for the directory, into which something may still write
)

// workdir is where the commands of one run of suite work: directories for what they write for a while, and the
// mark that their processes carry.
type workdir struct {
	dir     string   // for what is large, or holds devices
	fast    string   // for all else, in memory where there is enough: servers make and remove files by the thousand
	lock    *os.File // held as long as suite runs, whatever ends it
	marker  string
	timeout time.Duration // with a command that is to end, and with what it left, before they are killed
}

// Names in the temporary directory.
const (
	placePrefix = "pulley-suite-"
	lockName    = "lock"
)

// newWorkdir makes the directory, after it has removed those of runs that were killed. Others may enter it: a server that root
// starts runs under another account.
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

// acquireLock locks the directory; it fails where another does so. The kernel gives the lock up with the process.
func (p *workdir) acquireLock() (err error) {
	if p.lock, err = os.OpenFile(filepath.Join(p.dir, lockName), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return err
	}
	return syscall.Flock(int(p.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// beingMade is how long a directory is taken for one that is not locked yet.
const beingMade = time.Minute

// removeAbandoned removes what runs left that were killed, such as by SIGKILL.
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

// environment is that of every command: ours, with the directories, the mark, and more.
func (p *workdir) environment(more map[string]string) []string {
	env := append(os.Environ(), "TMPDIR="+p.fast, "GOTMPDIR="+p.dir, "PULLEY_IMAGE_DIR="+p.dir,
		pgserver.ClustersVariable+"="+filepath.Join(p.fast, "clusters"), markVariable+"="+p.marker)
	for name, value := range more {
		env = append(env, name+"="+value)
	}
	return env
}

// leave ends the processes that are left, unmounts and removes the directory. It does so whatever ended the run.
func (p *workdir) leave() error {
	err := p.endProcesses()
	err = errors.Join(err, p.unmount(), p.remove())
	_ = p.lock.Close() // with the directory it is of no use any more
	return err
}

// endProcesses waits for the processes with the mark, and kills those that do not end by themselves.
func (p *workdir) endProcesses() error {
	if p.await(p.timeout) {
		return nil
	}
	left := p.processes()
	for _, pid := range left {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may be gone by now
	}
	if !p.await(endWithin) { // the kernel takes its time on a busy machine
		return fmt.Errorf("processes %v cannot be killed", p.processes())
	}
	return fmt.Errorf("processes %v did not end by themselves, and were killed", left)
}

// await waits until no process with the mark is left, and says whether that came about in time.
func (p *workdir) await(within time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	for len(p.processes()) > 0 {
		if ctx.Err() != nil {
			return false
		}
		_ = pause.For(ctx, pollPause) // the loop sees itself that ctx has ended
	}
	return true
}

// processes lists those that carry the mark. Where there is no /proc, nobody is found.
func (p *workdir) processes() []int {
	return slices.Sorted(maps.Keys(procenv.Find(markVariable+"="+p.marker, procenv.Settled)))
}

// unmount takes away what is mounted below the directory, the deepest first.
func (p *workdir) unmount() error {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil // not on Linux: nothing here mounts
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

// remove removes the directories. A watchdog may be removing parts of it at the same time.
func (p *workdir) remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), removeWithin)
	defer cancel()
	for {
		err := errors.Join(os.RemoveAll(p.fast), os.RemoveAll(p.dir))
		if err == nil || ctx.Err() != nil {
			return err
		}
		_ = pause.For(ctx, pollPause) // the loop sees itself that ctx has ended
	}
}
