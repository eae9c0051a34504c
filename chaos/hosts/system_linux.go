package hosts

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// connTimeout makes a listener's connections end when sent data or probes stay unanswered for patience.
func connTimeout(patience time.Duration) func(network, address string, conn syscall.RawConn) error {
	return func(_, _ string, conn syscall.RawConn) error {
		var err error
		ctl := conn.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(patience.Milliseconds()))
		})
		if ctl != nil {
			return ctl
		}
		if err != nil {
			return fmt.Errorf("TCP_USER_TIMEOUT: %w", err)
		}
		return nil
	}
}

// processors lists the processors of this process in Docker's format, so that a host gets the same as a child. Empty: all.
func processors() string {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return ""
	}
	var list []string
	for i := range len(set) * strconv.IntSize {
		if set.IsSet(i) {
			list = append(list, strconv.Itoa(i))
		}
	}
	return strings.Join(list, ",")
}
