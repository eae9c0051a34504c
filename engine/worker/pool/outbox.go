package pool

import (
	"os"
	"sync"
)

// writeBytes bounds a write, unless a line is longer.
const writeBytes = 64 << 10

// outbox holds what is to be written to a worker: at most a run and a cancel for each slot.
type outbox struct {
	wake chan struct{}

	mu    sync.Mutex
	parts [][]byte // must not be changed after add
	bye   bool
}

// add does not block.
func (o *outbox) add(parts ...[]byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.bye {
		o.parts = append(o.parts, parts...)
		o.ring()
	}
}

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

// write writes what is added, as much at once as possible, until the last line was written, the file is closed or stopped is.
// After the last line it closes the file.
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
				return
			}
			if buffer = buffer[:0]; cap(buffer) > 1<<20 {
				buffer = nil // releases a long line's memory
			}
		}
		clear(parts)
		if bye {
			_ = file.Close()
			return
		}
	}
}
