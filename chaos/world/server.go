package world

import (
	"context"
	"maps"
	"strconv"
	"time"

	"pulley/chaos/cases"
	"pulley/engine/pgserver"
	"pulley/engine/pgserver/pgwire"
)

// StartWithin bounds the start of the server and of the engines.
const StartWithin = 4 * time.Minute

// Connections of a run's server: few, so that they can be exhausted soon.
const (
	connectionsOwn    = 30 // for the run itself, and for what is being made anew
	connectionsEngine = 20
)

// noticingLoss has a server that is taken off its network notice soon that nobody is there any more.
var noticingLoss = map[string]string{
	"tcp_keepalives_idle": "1", "tcp_keepalives_interval": "1", "tcp_keepalives_count": "2", "tcp_user_timeout": "2000",
}

// OpenServer starts a Postgres that is the run's own, on a disk of its own if one is given.
func OpenServer(ctx context.Context, c cases.Case, d *Disk, log func(string)) (*pgserver.Server, error) {
	settings := map[string]string{"max_connections": strconv.Itoa(connectionsOwn + connectionsEngine*c.Engines)}
	if pause := c.VacuumPause(); pause > 0 {
		settings["autovacuum_naptime"] = strconv.Itoa(int(pause/time.Second)) + "s"
	}
	dir := ""
	if d != nil {
		dir = d.dir()
	}
	ways := []pgserver.Way{pgserver.WayLocal, pgserver.WayDocker, pgserver.WayDownload}
	if c.Server == cases.ServerDocker {
		ways = []pgserver.Way{pgserver.WayDocker}
		maps.Copy(settings, noticingLoss)
	}
	return pgserver.Open(ctx, pgserver.Options{
		TempDir:  dir,
		Settings: settings,
		Ways:     ways, Log: log, StartTimeout: StartWithin,
	})
}

// OpenFront makes the wire of the run itself, which lets everything pass.
func OpenFront(server *pgserver.Server) (*pgwire.Proxy, error) {
	return pgwire.Listen(server.DSN(), func(uint64) pgwire.Judge {
		return func(*pgwire.Message) pgwire.Verdict { return pgwire.Verdict{Deliver: true} }
	})
}
