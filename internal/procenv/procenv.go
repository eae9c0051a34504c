// Package procenv finds processes by a variable in their environment, which their children inherit, whatever group or session
// these make for themselves. It reads /proc; where there is none, it finds nobody.
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

// What bounds the reading of a process that begins another program, which has no environment for a moment.
const (
	// Settled is how often such a process is looked at until it has one, even on a busy machine where it waits for a processor.
	Settled = 5000

	// Glance is a few looks, for who comes again anyway.
	Glance = 3

	bareTries = 20 // looks at one that has arguments and no environment, which some processes never have
	execPause = time.Millisecond

	bytesMax = 1 << 20 // of an environment
)

// buffers hold an environment each; whoever looks again and again should not make one each time.
var buffers = sync.Pool{New: func() any { return new([bytesMax]byte) }}

// Find gives the processes, other than this one, whose environment has a variable that begins with prefix, as in "NAME=abc",
// each with that variable. It looks at a process that begins another program so many times, a millisecond apart; see Settled.
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

// Of gives the variable that begins with prefix in the environment of one process, as Find does.
func Of(pid int, prefix string, tries int) (string, bool) {
	buffer := buffers.Get().(*[bytesMax]byte)
	defer buffers.Put(buffer)
	return variable(read(strconv.Itoa(pid), buffer[:], tries), prefix)
}

// variable takes the last one, as most programs do where a name is there twice.
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

// read reads the environment of a process into a buffer, and gives nothing of one that has ended or is another's. While a process
// begins another program, there is nothing to read for a moment. It reads by one call of the system: between two, the process may
// begin another program, and what the first gave would be a part that seems to be all.
func read(pid string, buffer []byte, tries int) []byte {
	bare := 0
	for range tries {
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
