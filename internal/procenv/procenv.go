// Package procenv finds processes by a variable in their environment, which children inherit in any group or session. Without
// /proc it finds none.
package procenv

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"pulley/internal/pause"
)

// A process that is executing another program momentarily has no environment, so that reads are retried.
const (
	// Settled suffices even on a busy machine, where the process waits for a processor.
	Settled = 5000

	// Glance is for callers that check again anyway.
	Glance = 3

	bareTries = 20 // for a process with arguments and no environment, as some always are
	execPause = time.Millisecond

	bytesMax = 1 << 20 // of an environment
)

// buffers avoids an allocation per environment in frequent checks.
var buffers = sync.Pool{New: func() any { return new([bytesMax]byte) }}

// Find returns the other processes with a variable that begins with prefix, as in "NAME=abc", and that variable. tries bounds
// the reads of a process, a millisecond apart; see Settled.
func Find(prefix string, tries int) map[int]string {
	entries, _ := os.ReadDir("/proc") // there is none on a Mac
	buffer := buffers.Get().(*[bytesMax]byte)
	defer buffers.Put(buffer)
	found := map[int]string{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		if v, ok := variable(read(e.Name(), buffer[:], tries), prefix); ok {
			found[pid] = v
		}
	}
	return found
}

// Of is Find for one process.
func Of(pid int, prefix string, tries int) (string, bool) {
	buffer := buffers.Get().(*[bytesMax]byte)
	defer buffers.Put(buffer)
	return variable(read(strconv.Itoa(pid), buffer[:], tries), prefix)
}

// variable returns the last duplicate, as most programs do.
func variable(environment []byte, prefix string) (string, bool) {
	if !bytes.Contains(environment, []byte(prefix)) {
		return "", false
	}
	found, ok := "", false
	for v := range bytes.SplitSeq(environment, []byte{0}) {
		if bytes.HasPrefix(v, []byte(prefix)) {
			found, ok = string(v), true
		}
	}
	return found, ok
}

// read reads a process's environment; nothing if the process has ended or is another user's. It uses one system call: between
// two, the process might execute another program, and the first part would look complete.
func read(pid string, buffer []byte, tries int) []byte {
	bare := 0
	for range tries {
		f, err := os.Open("/proc/" + pid + "/environ")
		if err != nil {
			return nil
		}
		n, err := f.Read(buffer)
		_ = f.Close() // only read
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
