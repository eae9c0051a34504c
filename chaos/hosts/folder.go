package hosts

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// folderPrefix begins the names of the folders; nothing else is removed.
const folderPrefix = "pulley-hosts-"

// folder has the pipes of a run. It is locked while the run's process lives.
type folder struct {
	path string
	lock *os.File
}

func makeFolder() (*folder, error) {
	path, err := os.MkdirTemp("", folderPrefix)
	if err != nil {
		return nil, err
	}
	f := &folder{path: path}
	if f.lock, err = os.Open(path); err == nil {
		err = syscall.Flock(int(f.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), f.drop())
	}
	return f, nil
}

// drop removes and unlocks the folder. It accepts nil.
func (f *folder) drop() error {
	if f == nil {
		return nil
	}
	err := os.RemoveAll(f.path)
	if f.lock != nil {
		err = errors.Join(err, f.lock.Close())
		f.lock = nil
	}
	if err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// isLeftover reports whether the run that made a folder has certainly ended.
func isLeftover(path string) bool {
	dir, err := os.Open(path)
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	defer func() { _ = dir.Close() }() // unlocks it, too
	return syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
