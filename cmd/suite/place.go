package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pulley/internal/pause"
)

// markVariable marks the processes of a run of suite, so that none is left behind.
const markVariable = "PULLEY_SUITE_RUN"

// Bounds of ending what was started.
const (
	endWithin    = 25 * time.Second       // for a command after SIGINT, and for what it left, such as a server's watchdog, before it is killed
	lookAgain    = 100 * time.Millisecond // between looks for what is left
	removeWithin = 10 * time.Second       // for the directory, into which something may still write
)

// place is where the commands of one run of suite work: directories for what they write for a while, and the
// mark that their processes carry.
type place struct {
	dir      string   // for what is large, or holds devices
	fast     string   // for all else, in memory where there is enough: servers make and remove files by the thousand
	lock     *os.File // held as long as suite runs, whatever ends it
	mark     string
	patience time.Duration // with a command that is to end, and with what it left, before they are killed
}

// Names in the temporary directory.
const (
	placePrefix = "pulley-suite-"
	lockName    = "lock"
)

// makePlace makes the directory, after it has removed those of runs that were killed. Others may enter it: a server that root
// starts runs under another account.
func makePlace() (*place, error) {
	removeAbandoned()
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails, by its contract
	p := placeOf(hex.EncodeToString(random[:]))
	if err := os.Mkdir(p.dir, 0o755); err != nil {
		return nil, fmt.Errorf("no directory for the tests: %w", err)
	}
	if err := errors.Join(os.Chmod(p.dir, 0o755), p.take(), os.MkdirAll(p.fast, 0o755), os.Chmod(p.fast, 0o755)); err != nil {
		return nil, errors.Join(fmt.Errorf("no directory for the tests: %w", err), os.RemoveAll(p.dir), os.RemoveAll(p.fast))
	}
	return p, nil
}

func placeOf(mark string) *place {
	name := placePrefix + mark
	p := &place{mark: mark, dir: filepath.Join(os.TempDir(), name), patience: endWithin}
	p.fast = p.dir
	if memory := memoryDir(); memory != "" {
		p.fast = filepath.Join(memory, name)
	}
	return p
}

// take locks the directory; it fails where another does so. The kernel gives the lock up with the process.
func (p *place) take() (err error) {
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
		if p.take() != nil {
			continue // in use, or not ours
		}
		p.patience = lookAgain
		if err := p.leave(); err != nil {
			fmt.Fprintf(os.Stderr, "suite: a run that was killed left %s: %v\n", dir, err)
		}
	}
}

// environment is that of every command: ours, with the directory, the mark, and more.
func (p *place) environment(more map[string]string) []string {
	env := append(os.Environ(), "TMPDIR="+p.fast, "GOTMPDIR="+p.dir, "PULLEY_IMAGE_DIR="+p.dir, markVariable+"="+p.mark)
	for name, value := range more {
		env = append(env, name+"="+value)
	}
	return env
}

// leave ends the processes that are left, unmounts and removes the directory. It does so whatever ended the run.
func (p *place) leave() error {
	err := p.endProcesses()
	err = errors.Join(err, p.unmount(), p.remove())
	_ = p.lock.Close() // with the directory it is of no use any more
	return err
}

// endProcesses waits for the processes with the mark, and kills those that do not end by themselves.
func (p *place) endProcesses() error {
	if p.await(p.patience) {
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
func (p *place) await(within time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	for len(p.processes()) > 0 {
		if ctx.Err() != nil {
			return false
		}
		_ = pause.For(ctx, lookAgain) // the loop sees itself that ctx has ended
	}
	return true
}

// processes lists those that carry the mark. Where there is no /proc, nobody is found.
func (p *place) processes() []int {
	entries, _ := os.ReadDir("/proc") // there is none on a Mac
	mark := []byte(markVariable + "=" + p.mark)
	buffer := make([]byte, environmentMost)
	var found []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		if slices.ContainsFunc(bytes.Split(readEnvironment(e.Name(), buffer), []byte{0}), func(v []byte) bool { return bytes.Equal(v, mark) }) {
			found = append(found, pid)
		}
	}
	return found
}

// Bounds of reading the environment of a process that begins another program.
const (
	execTries = 5000 // while it has neither arguments nor an environment: on a busy machine it may wait there for a processor
	bareTries = 20   // while it has arguments and no environment, which some processes never have
	execPause = time.Millisecond

	environmentMost = 1 << 20 // bytes that are looked at; the mark is that of our own commands, which have less
)

// readEnvironment reads the environment of a process into a buffer, and gives nothing of one that has ended or is another's. While a process
// begins another program, there is nothing to read for a moment. It reads by one call of the system: between two, the process may begin
// another program, and what the first gave would be a part that seems to be all.
func readEnvironment(pid string, buffer []byte) []byte {
	bare := 0
	for range execTries {
		f, err := os.Open("/proc/" + pid + "/environ")
		if err != nil {
			return nil
		}
		n, err := f.Read(buffer)
		_ = f.Close() // it was only read
		if n > 0 {
			return buffer[:n]
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil
		}
		if _, err := os.Readlink("/proc/" + pid + "/exe"); err != nil {
			return nil // a zombie, or the kernel's own
		}
		if arguments, err := os.ReadFile("/proc/" + pid + "/cmdline"); err != nil || len(arguments) > 0 {
			if bare++; bare == bareTries {
				return nil
			}
		}
		_ = pause.For(context.Background(), execPause) // cannot fail: that context does not end
	}
	return nil
}

// unmount takes away what is mounted below the directory, the deepest first.
func (p *place) unmount() error {
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
func (p *place) remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), removeWithin)
	defer cancel()
	for {
		err := errors.Join(os.RemoveAll(p.fast), os.RemoveAll(p.dir))
		if err == nil || ctx.Err() != nil {
			return err
		}
		_ = pause.For(ctx, lookAgain) // the loop sees itself that ctx has ended
	}
}
