package process

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// stream is our end of a pipe that a program writes to. Before follow, nothing runs for it: what is written stays in the pipe.
type stream struct {
	fd   int                    // it does not block; -1: there is none, or file has it
	file *os.File               // nil before follow
	read func(text []byte) bool // false: nothing more is wanted
	full bool                   // take has said so
}

// open makes the pipe and gives the program's end.
func (s *stream) open() (*os.File, error) {
	reader, writer, err := newPipe()
	if err != nil {
		return nil, err
	}
	s.fd = reader
	return os.NewFile(uintptr(writer), "output"), syscall.SetNonblock(reader, true)
}

// follow gives a function that reads what comes until the end, until release, or until no more is wanted.
func (s *stream) follow() func() {
	s.file, s.fd = os.NewFile(uintptr(s.fd), "output"), -1
	return func() {
		buffer := make([]byte, readBytes)
		for {
			n, err := s.file.Read(buffer)
			if n > 0 && !s.emit(buffer[:n]) || err != nil {
				return // the end, the deadline, or too much
			}
		}
	}
}

// release ends what follow gave.
func (s *stream) release() {
	if s.file != nil {
		_ = s.file.SetReadDeadline(time.Unix(1, 0)) // long ago
	}
}

// drain takes what is in the pipe, and does not wait for more. Nothing may follow the stream any more.
func (s *stream) drain() {
	switch {
	case s.full:
	case s.file == nil:
		s.readAll(s.fd)
	default:
		raw, err := s.file.SyscallConn()
		if err == nil && s.file.SetReadDeadline(time.Time{}) == nil {
			_ = raw.Read(func(fd uintptr) bool { // cannot fail: the file is open, and has no deadline
				s.readAll(int(fd))
				return true
			})
		}
	}
}

func (s *stream) readAll(fd int) {
	var small [pipeBytes]byte // enough for most
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
		_ = s.file.Close() // it was only read
	case s.fd >= 0:
		_ = syscall.Close(s.fd)
		s.fd = -1
	}
}

// write writes all of a text that the pipe has room for.
func write(fd int, text []byte) (int, error) {
	for {
		n, err := syscall.Write(fd, text)
		if !errors.Is(err, syscall.EINTR) {
			return n, err
		}
	}
}
