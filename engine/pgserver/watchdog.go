package pgserver

import (
	"context"
	_ "embed"
	"strings"

	"pulley/internal/watchdog"
)

//go:embed watchdog.sh
var watchdogScript string

// startWatchdog starts a process that ends our server and removes its directories when this process exits or releases it. It
// must start before the first process that uses the directories.
func startWatchdog(dirs []string) (*watchdog.Watchdog, error) {
	return watchdog.Start(watchdogScript, "PULLEY_DIRS="+strings.Join(dirs, "\n"))
}

// clearLeftovers does a dead watchdog's work: it ends the servers of the directories and removes them.
func clearLeftovers(ctx context.Context, dirs []string) error {
	w, err := startWatchdog(dirs)
	if err != nil {
		return err
	}
	return w.Release(ctx, "")
}
