package hosts

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// folderPrefix begins the names of the folders, and of nothing else that is removed.
const folderPrefix = "pulley-hosts-"

// folder is where the pipes of a run are. It is locked as long as the run's process lives.
type folder struct {
	path string
	lock *os.File // the folder itself
}

// makeFolder makes one that nobody else can enter, and locks it.
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

// drop removes the folder, and gives up the lock. A nil folder has neither.
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

// isLeftover says of a folder whether the run that made it has ended. It does not where that is not certain, as with
// another user's.
func isLeftover(path string) bool {
	dir, err := os.Open(path)
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	defer func() { _ = dir.Close() }() // and with it the lock
	return syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
