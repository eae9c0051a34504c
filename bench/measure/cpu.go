package measure

import (
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/reports/record"
)

// Processors measures the processor time of this process, the server and all others on the machine.
type Processors struct {
	postmaster int // the server's first process; 0: not visible on this machine
	none       bool
}

// NewProcessors is for the server of conn; nil: no server.
func NewProcessors(conn *pgx.Conn) Processors {
	if conn == nil {
		return Processors{none: true}
	}
	if !local(conn) {
		return Processors{}
	}
	return Processors{postmaster: parentOfServer(int(conn.PgConn().PID()))}
}

// local reports whether the connection is a Unix socket or the loopback.
func local(conn *pgx.Conn) bool {
	host := conn.Config().Host
	if strings.HasPrefix(host, "/") || host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// Used is processor time up to a moment, meaningful only as a difference: see Since.
type Used struct {
	process, harness, server, all time.Duration
	okServer, okAll, ok           bool
	none                          bool
}

// Read reads the time used so far.
func (p Processors) Read() Used {
	u := Used{none: p.none}
	u.process, u.ok = processTime()
	p.readRest(&u)
	return u
}

// ReadOf is Read for a workload in other processes, which must be alive: the process's time is theirs and that of whatever they
// started, to a hundredth of a second. This process, which only drives them, is not among the others.
func (p Processors) ReadOf(pids []int) Used {
	u := Used{none: p.none}
	u.harness, u.ok = processTime()
	for _, pid := range pids {
		t, ok := treeTime(pid)
		u.process, u.ok = u.process+t, u.ok && ok
	}
	p.readRest(&u)
	return u
}

func (p Processors) readRest(u *Used) {
	if p.postmaster != 0 {
		u.server, u.okServer = serverTime(p.postmaster)
	}
	u.all, u.okAll = machineTime()
}

// Since returns the time used since an earlier reading; nil if the system does not report it. A server process that ends in
// between is counted with its parent, to a hundredth of a second.
func (u Used) Since(before Used) *record.CPU {
	if !u.ok || !before.ok {
		return nil
	}
	out := &record.CPU{ProcessNS: int64(u.process - before.process)}
	if u.okServer && before.okServer {
		server := int64(max(u.server-before.server, 0))
		out.ServerNS = &server
	}
	if u.okAll && before.okAll && (out.ServerNS != nil || u.none) {
		others := int64(u.all - before.all - (u.process - before.process) - (u.harness - before.harness))
		if out.ServerNS != nil {
			others -= *out.ServerNS
		}
		others = max(others, 0)
		out.OthersNS = &others
	}
	return out
}
