package measure

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// tick is the unit of times in /proc: USER_HZ is 100 on all of Go's architectures.
const tick = time.Second / 100

// See proc_pid_stat(5).
type procStat struct {
	name   string
	parent int
	ourCPU time.Duration // utime + stime
	ended  time.Duration // cutime + cstime, of reaped children
}

func readStat(pid int) (procStat, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return procStat{}, false
	}
	// The name is in parentheses and may contain any character.
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return procStat{}, false
	}
	fields := strings.Fields(string(text[end+1:]))
	const parent, utime, cstime = 4 - 3, 14 - 3, 17 - 3
	if len(fields) <= cstime {
		return procStat{}, false
	}
	s := procStat{name: string(text[open+1 : end])}
	if s.parent, err = strconv.Atoi(fields[parent]); err != nil {
		return procStat{}, false
	}
	for i := utime; i <= cstime; i++ {
		ticks, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return procStat{}, false
		}
		if i < utime+2 {
			s.ourCPU += time.Duration(ticks) * tick
		} else {
			s.ended += time.Duration(ticks) * tick
		}
	}
	return s, true
}

// runTime is by the scheduler's count in nanoseconds, which lacks only interrupts.
func runTime(pid int) (time.Duration, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	if err != nil {
		return 0, false
	}
	first, _, _ := strings.Cut(string(text), " ")
	ns, err := strconv.ParseInt(first, 10, 64)
	return time.Duration(ns), err == nil
}

// processTime is of this process over all threads, in nanoseconds: /proc/PID/stat has only hundredths of a second.
func processTime() (time.Duration, bool) { return clock(unix.CLOCK_PROCESS_CPUTIME_ID) }

// ThreadTime returns the calling thread's processor time; ok is false if the system does not report it.
func ThreadTime() (used time.Duration, ok bool) { return clock(unix.CLOCK_THREAD_CPUTIME_ID) }

func clock(id int32) (time.Duration, bool) {
	var t unix.Timespec
	if err := unix.ClockGettime(id, &t); err != nil {
		return 0, false
	}
	return time.Duration(t.Nano()), true
}

// parentOfServer returns the server's first process, given a session's; 0 if unknown, as for a server in a container.
func parentOfServer(session int) int {
	s, ok := readStat(session)
	if !ok || !strings.HasPrefix(s.name, "postgres") {
		return 0
	}
	parent, ok := readStat(s.parent)
	if !ok || !strings.HasPrefix(parent.name, "postgres") {
		return 0
	}
	return s.parent
}

func serverTime(postmaster int) (time.Duration, bool) {
	s, ok := readStat(postmaster)
	if !ok {
		return 0, false
	}
	sum := s.ourCPU + s.ended
	children, ok := childrenOf(postmaster)
	for _, pid := range children {
		if t, ok := runTime(pid); ok { // otherwise it has just ended
			sum += t
		}
	}
	return sum, ok
}

// treeTime is of a process with its children and theirs.
func treeTime(pid int) (time.Duration, bool) {
	s, ok := readStat(pid)
	if !ok {
		return 0, false
	}
	sum := s.ourCPU + s.ended
	children, ok := childrenOf(pid)
	for _, child := range children {
		if t, ok := treeTime(child); ok { // otherwise it has just ended
			sum += t
		}
	}
	return sum, ok
}

// childrenOf returns the processes that any thread of a process has started.
func childrenOf(pid int) (pids []int, ok bool) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil || len(files) == 0 {
		return nil, false
	}
	for _, file := range files {
		list, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue // the thread has just ended
		}
		if err != nil {
			return nil, false
		}
		for _, word := range strings.Fields(string(list)) {
			child, err := strconv.Atoi(word)
			if err != nil {
				return nil, false
			}
			pids = append(pids, child)
		}
	}
	return pids, true
}

// machineTime is the processors' non-idle time, including time stolen by a hypervisor.
func machineTime() (time.Duration, bool) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, false
	}
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(line) // cpu user nice system idle iowait irq softirq steal guest guest_nice
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, false
	}
	var sum time.Duration
	for i, field := range fields[1:9] { // guest is part of user
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, false
		}
		if i != 3 && i != 4 {
			sum += time.Duration(ticks) * tick
		}
	}
	return sum, true
}
