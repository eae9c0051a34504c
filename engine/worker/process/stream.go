package process

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// stream is our end of a program's output pipe. Before follow, output stays in the pipe.
type stream struct {
	fd   int                    // non-blocking; -1: none, or owned by file
	file *os.File               // nil before follow
	read func(text []byte) bool // false: stop reading
	full bool
}

func (s *stream) open() (*os.File, error) {
	reader, writer, err := newPipe()
	if err != nil {
		return nil, err
	}
	s.fd = reader
	return os.NewFile(uintptr(writer), "output"), syscall.SetNonblock(reader, true)
}

// follow returns a function that reads until the end, until release, or until read returns false.
func (s *stream) follow() func() {
	s.file, s.fd = os.NewFile(uintptr(s.fd), "output"), -1
	return func() {
		buffer := make([]byte, readBytes)
		for {
			n, err := s.file.Read(buffer)
			if n > 0 && !s.emit(buffer[:n]) || err != nil {
				return // end, deadline, or too much
			}
		}
	}
}

func (s *stream) release() {
	if s.file != nil {
		_ = s.file.SetReadDeadline(time.Unix(1, 0))
	}
}

// drain does not wait. Nothing may follow the stream any more.
func (s *stream) drain() {
	switch {
	case s.full:
	case s.file == nil:
		s.readAll(s.fd)
	default:
		raw, err := s.file.SyscallConn()
		if err == nil && s.file.SetReadDeadline(time.Time{}) == nil {
			_ = raw.Read(func(fd uintptr) bool { // cannot fail: the file is open, without a deadline
				s.readAll(int(fd))
				return true
			})
		}
	}
}

func (s *stream) readAll(fd int) {
	var small [pipeBytes]byte // usually enough
	buffer := small[:]
	for {
		n, err := syscall.Read(fd, buffer)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil || n <= 0 || !s.emit(buffer[:n]):
			return
		}
	}
}

func (s *stream) emit(text []byte) bool {
	s.full = !s.read(text)
	return !s.full
}

func (s *stream) close() {
	switch {
	case s.file != nil:
		_ = s.file.Close()
	case s.fd >= 0:
		_ = syscall.Close(s.fd)
		s.fd = -1
	}
}

func write(fd int, text []byte) (int, error) {
	for {
		n, err := syscall.Write(fd, text)
		if !errors.Is(err, syscall.EINTR) {
			return n, err
		}
	}
}
