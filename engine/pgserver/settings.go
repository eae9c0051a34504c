package pgserver

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

const (
	preloadSetting  = "shared_preload_libraries"
	statementStats  = "pg_stat_statements"
	maxWALSizeMB    = 8192 // avoids checkpoints during a measurement
	minWALSizeMB    = 256
	neededFreeBytes = 256 << 20 // a fresh cluster takes about 60 MB, plus its log
)

// measuringSettings are the settings of a server that we start: durable, and quiet enough to measure on. walMB bounds its log.
func measuringSettings(walMB int) map[string]string {
	return map[string]string{
		// Durability. These are Postgres' defaults, but an image or a package may have others.
		"fsync":              "on",
		"synchronous_commit": "on",
		"full_page_writes":   "on",

		// Checkpoints are the largest disturbance: none during a run of usual length.
		"max_wal_size":       strconv.Itoa(walMB) + "MB",
		"checkpoint_timeout": "30min",

		// A killed server must leave no shared memory outside of its directory.
		"dynamic_shared_memory_type": "mmap",

		"shared_buffers":           "256MB",
		"max_connections":          "200",
		"autovacuum":               "on",
		"track_io_timing":          "on",
		"track_wal_io_timing":      "on",
		preloadSetting:             statementStats,
		"pg_stat_statements.max":   "10000",
		"pg_stat_statements.track": "all",
	}
}

// walRoom is the bound of the log in MB for a disk's free bytes: a quarter, within limits, so that a long run does not fill a
// small disk.
func walRoom(freeBytes uint64) int {
	quarterMB := freeBytes / 4 >> 20
	return int(max(minWALSizeMB, min(quarterMB, maxWALSizeMB)))
}

// serverSettings are ours, overridden by the user's. track_wal_io_timing exists since version 14.
func (o Options) serverSettings(version, walMB int) map[string]string {
	settings := measuringSettings(walMB)
	if version < 140000 {
		delete(settings, "track_wal_io_timing")
	}
	maps.Copy(settings, o.Settings)
	return settings
}

// withoutStatementStats is for a server without the library, which would not start with it.
func withoutStatementStats(settings map[string]string) map[string]string {
	settings = maps.Clone(settings)
	var kept []string
	for _, library := range strings.Split(settings[preloadSetting], ",") {
		if library = strings.TrimSpace(library); library != statementStats && library != "" {
			kept = append(kept, library)
		}
	}
	settings[preloadSetting] = strings.Join(kept, ",")
	maps.DeleteFunc(settings, func(name, _ string) bool { return strings.HasPrefix(name, statementStats+".") })
	return settings
}

func configFile(settings map[string]string) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		value := strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(settings[name])
		fmt.Fprintf(&text, "%s = '%s'\n", name, value)
	}
	return text.String()
}

func commandLine(settings map[string]string) []string {
	var args []string
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	return args
}
