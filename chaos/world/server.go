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

// A run's server has few connections, so that they are soon exhausted.
const (
	connectionsOwn    = 30 // for the run itself, and for those being replaced
	connectionsEngine = 20
)

// noticingLoss makes a disconnected server notice the loss of its clients soon.
var noticingLoss = map[string]string{
	"tcp_keepalives_idle": "1", "tcp_keepalives_interval": "1", "tcp_keepalives_count": "2", "tcp_user_timeout": "2000",
}

// OpenServer starts the run's own Postgres, on the given disk if there is one.
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

// OpenFront makes the run's own wire, which passes everything.
func OpenFront(server *pgserver.Server) (*pgwire.Proxy, error) {
	return pgwire.Listen(server.DSN(), func(uint64) pgwire.Judge {
		return func(*pgwire.Message) pgwire.Verdict { return pgwire.Verdict{Deliver: true} }
	})
}
