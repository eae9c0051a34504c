package check_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"pulley/adapter/protocol"
)

// store is a folder of instances that processes share. A lock of a file excludes them from each other; another one shows that a
// process lives, since the system frees it when the process ends.
type store struct {
	dir   string
	owner string
	mu    sync.Mutex // of this process's goroutines: file locks belong to open files
	lock  *os.File
	own   *os.File // open as long as the process lives: its lock says so
}

// record is an instance.
type record struct {
	ID, Workload string
	Number       int // of its submission
	Tasks        map[string]*taskRecord
	Status       protocol.Status
	Value        string
	Message      string
}

// taskRecord is a task that was claimed.
type taskRecord struct {
	Owner   string // the name of a file; empty: nobody's
	Attempt int
	Done    bool
	Value   string
}

func openStore(dir string, create bool) (*store, error) {
	path := filepath.Join(dir, "instances")
	if create {
		if err := errors.Join(os.Mkdir(path, 0o700), os.Mkdir(filepath.Join(dir, "ended"), 0o700), os.Mkdir(filepath.Join(dir, "owners"), 0o700)); err != nil {
			return nil, err
		}
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	owner, err := os.CreateTemp(filepath.Join(dir, "owners"), "o")
	if err != nil {
		return nil, fmt.Errorf("setup said that the store is there, and it is not: %w", err)
	}
	return &store{dir: dir, owner: filepath.Base(owner.Name()), lock: lock, own: owner}, syscall.Flock(int(owner.Fd()), syscall.LOCK_EX)
}

// change calls f alone.
func (s *store) change(f func(*store)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for errors.Is(syscall.Flock(int(s.lock.Fd()), syscall.LOCK_EX), syscall.EINTR) {
		continue
	}
	defer func() { _ = syscall.Flock(int(s.lock.Fd()), syscall.LOCK_UN) }()
	f(s)
}

func (s *store) get(id string) (i *record) {
	s.change(func(s *store) { i = s.read(id) })
	return i
}

// read returns an instance; nil: it is not there.
func (s *store) read(id string) *record {
	for _, folder := range []string{"instances", "ended"} {
		text, err := os.ReadFile(filepath.Join(s.dir, folder, id))
		if err != nil {
			continue
		}
		i := &record{}
		if err := json.Unmarshal(text, i); err != nil {
			panic(err)
		}
		return i
	}
	return nil
}

// save stores an instance, so that others see all of it or nothing.
func (s *store) save(i *record) {
	temporary := filepath.Join(s.dir, "new")
	if err := os.WriteFile(temporary, mustJSON(i), 0o600); err != nil {
		panic(err)
	}
	folder, other := "instances", "ended"
	if i.Status != protocol.Open {
		folder, other = other, folder
	}
	if err := os.Rename(temporary, filepath.Join(s.dir, folder, i.ID)); err != nil {
		panic(err)
	}
	_ = os.Remove(filepath.Join(s.dir, other, i.ID))
}

// keep stores a long value in a file of its own, so that records stay short, and returns what a record has of it.
func (s *store) keep(i *record, k key, value string) string {
	if len(value) <= 1000 {
		return value
	}
	name := "value-" + i.ID + "-" + k.String()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(value), 0o600); err != nil {
		panic(err)
	}
	return "@" + name
}

// text returns the value that keep stored.
func (s *store) text(kept string) string {
	name, isLong := strings.CutPrefix(kept, "@")
	if !isLong {
		return kept
	}
	value, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		panic(err)
	}
	return string(value)
}

// next numbers instances.
func (s *store) next() int {
	path := filepath.Join(s.dir, "last")
	text, _ := os.ReadFile(path)
	text = append(text, '.')
	_ = os.WriteFile(path, text, 0o600)
	return len(text)
}

// lives reports whether an owner's process lives.
func (s *store) lives(owner string) bool {
	if owner == s.owner {
		return true
	}
	f, err := os.Open(filepath.Join(s.dir, "owners", owner))
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
}

// claim claims a task that can be executed, and returns its instance; nil: there is none.
func (s *store) claim(workloads map[string]*protocol.Workload, newest, recovers bool) (claimed *record, k key) {
	s.change(func(s *store) {
		files, _ := os.ReadDir(filepath.Join(s.dir, "instances"))
		var open []*record
		for _, f := range files {
			open = append(open, s.read(f.Name()))
		}
		slices.SortFunc(open, func(a, b *record) int { return cmp.Compare(a.Number, b.Number) })
		if newest {
			slices.Reverse(open)
		}
		for _, i := range open {
			w := workloads[i.Workload]
			for _, k = range keys(w) {
				if !s.isFree(i, w, k, recovers) {
					continue
				}
				t := i.Tasks[k.String()]
				if t == nil {
					t = &taskRecord{}
					i.Tasks[k.String()] = t
				}
				if t.Owner == "" { // else it is the attempt of a dead process
					t.Attempt++
				}
				t.Owner = s.owner
				s.save(i)
				claimed = i
				return
			}
		}
	})
	return claimed, k
}

func (s *store) isFree(i *record, w *protocol.Workload, k key, recovers bool) bool {
	if t := i.Tasks[k.String()]; t != nil && (t.Done || t.Owner != "" && (!recovers || s.lives(t.Owner))) {
		return false
	}
	for _, from := range k.inputs(w) {
		if t := i.Tasks[from.String()]; t == nil || !t.Done {
			return false
		}
	}
	return k.Round == 1 || len(w.Task(k.Task).Needs) > 0 || i.roundIsDone(w, k.Round-1)
}

// roundIsDone reports whether all tasks of a round have finished.
func (i *record) roundIsDone(w *protocol.Workload, round int) bool {
	for _, t := range w.Tasks {
		if r := i.Tasks[key{t.Name, round}.String()]; r == nil || !r.Done {
			return false
		}
	}
	return true
}
