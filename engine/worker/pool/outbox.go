package pool

import (
	"os"
	"sync"
)

// writeBytes is how much is written at once, unless a line has more.
const writeBytes = 64 << 10

// outbox is what is to be written to a worker. It is bounded by the worker's slots: there is a run for each, and a cancel for each.
type outbox struct {
	wake chan struct{} // has room for one

	mu    sync.Mutex
	parts [][]byte // must not be changed by whoever added them
	bye   bool     // nothing more comes
}

// add adds parts of lines, and does not wait.
func (o *outbox) add(parts ...[]byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.bye {
		o.parts = append(o.parts, parts...)
		o.ring()
	}
}

// finish adds the last line.
func (o *outbox) finish(line []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.bye {
		o.parts, o.bye = append(o.parts, line), true
		o.ring()
	}
}

func (o *outbox) ring() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

func (o *outbox) drain(room [][]byte) (parts [][]byte, bye bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	parts, o.parts = o.parts, room[:0]
	return parts, o.bye
}

// write writes what is added, as much at once as there is, until the last line was written, the file is closed or stopped is. After the
// last line it closes the file.
func (o *outbox) write(file *os.File, stopped <-chan struct{}) {
	var parts [][]byte
	var buffer []byte
	for {
		select {
		case <-o.wake:
		case <-stopped:
			return
		}
		var bye bool
		parts, bye = o.drain(parts)
		for i, part := range parts {
			buffer = append(buffer, part...)
			if len(buffer) < writeBytes && i+1 < len(parts) {
				continue
			}
			if _, err := file.Write(buffer); err != nil {
				return // the worker has ended, or will be: whoever waits for it sees that
			}
			if buffer = buffer[:0]; cap(buffer) > 1<<20 {
				buffer = nil // one long line does not keep its memory
			}
		}
		clear(parts)
		if bye {
			_ = file.Close()
			return
		}
	}
}
