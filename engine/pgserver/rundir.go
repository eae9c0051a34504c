package pgserver

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	runDirPrefix = "pulley-pg-" // the watchdog removes nothing without this prefix
	lockName     = "lock"

	// unlockedGrace is the age up to which a directory without a lock file counts as being created, which takes milliseconds.
	unlockedGrace = time.Minute

	// sweepTimeout bounds the removal of leftovers.
	sweepTimeout = 30 * time.Second
)

// runDir is a directory of one server of this process. It is in use while its lock is held, which the kernel releases with the
// process.
type runDir struct {
	path string
	lock *os.File
}

func makeRunDir(root string, who *account) (*runDir, error) {
	var random [6]byte
	_, _ = rand.Read(random[:]) // never fails, by its contract
	d := &runDir{path: filepath.Join(root, runDirPrefix+hex.EncodeToString(random[:]))}
	if err := os.Mkdir(d.path, 0o700); err != nil {
		return nil, err
	}
	if err := d.acquireLock(who); err != nil {
		d.drop()
		_ = os.RemoveAll(d.path)
		return nil, err
	}
	return d, nil
}

// acquireLock locks the directory. The lock file gets its name after it is locked, so a directory with an unlocked lock file is
// certainly a leftover.
func (d *runDir) acquireLock(who *account) error {
	name := filepath.Join(d.path, lockName)
	lock, err := os.OpenFile(name+".new", os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	d.lock = lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("lock %s: %w", name, err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		return err
	}
	return who.chown(d.path)
}

func (d *runDir) drop() {
	if d.lock != nil {
		_ = d.lock.Close()
		d.lock = nil
	}
}

func leftovers(roots []string) []string {
	var dead []string
	for _, root := range roots {
		entries, err := os.ReadDir(root)
		if err != nil {
			continue // we could not remove anything there
		}
		for _, e := range entries {
			path := filepath.Join(root, e.Name())
			if strings.HasPrefix(e.Name(), runDirPrefix) && e.IsDir() && isLeftover(path) && !slices.Contains(dead, path) {
				dead = append(dead, path)
			}
		}
	}
	return dead
}

// isLeftover is false when uncertain: for another user's directory, or one being made.
func isLeftover(path string) bool {
	lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, os.ErrNotExist) {
		info, err := os.Lstat(path)
		return err == nil && time.Since(info.ModTime()) > unlockedGrace
	}
	if err != nil {
		return false
	}
	defer func() { _ = lock.Close() }()
	return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// sweep removes leftovers where this run may make directories. It never fails an Open: failures are logged.
func (o Options) sweep(ctx context.Context) {
	dead := leftovers(o.roots())
	if len(dead) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	if err := clearLeftovers(ctx, dead); err != nil {
		o.logf("an earlier run's directories could not be removed: %v", err)
		return
	}
	for _, dir := range dead {
		if _, err := os.Lstat(dir); err == nil {
			o.logf("an earlier run left %s, which could not be removed: remove it by hand", dir)
			continue
		}
		o.logf("removed %s, left by an earlier run that was killed", dir)
	}
}

// roots are the possible parents of a server's directory, preferred one first. The others are for a TMPDIR that the server's
// account cannot enter, or whose path is too long for a socket.
func (o Options) roots() []string {
	var roots []string
	for _, root := range []string{o.TempDir, "/tmp", "/var/tmp"} {
		if abs, err := filepath.Abs(root); err == nil && !slices.Contains(roots, abs) {
			roots = append(roots, abs)
		}
	}
	return roots
}
