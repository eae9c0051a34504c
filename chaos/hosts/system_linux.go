package hosts

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// connTimeout has a listener's connections end when what was sent, or asked, has had no answer for so long.
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

// processors lists those that this process may use, as Docker takes them: a host gets no others, as a child would not.
// Empty: all.
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
