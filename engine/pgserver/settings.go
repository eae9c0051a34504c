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
	maxWALSizeMB    = 8192 // enough that no checkpoint falls into a measurement
	minWALSizeMB    = 256
	neededFreeBytes = 256 << 20 // a fresh cluster takes about 60 MB, its log comes on top
)

// measuringSettings are the settings of a server that we start: durable, and quiet enough to measure
// on. walMB is the room that its log may take.
func measuringSettings(walMB int) map[string]string {
	return map[string]string{
		// What acknowledged work relies on. These are Postgres' defaults; they are said aloud because
		// an image or a package may have other ones.
		"fsync":              "on",
		"synchronous_commit": "on",
		"full_page_writes":   "on",

		// Checkpoints are the largest disturbance there is: none during a run of usual length.
		"max_wal_size":       strconv.Itoa(walMB) + "MB",
		"checkpoint_timeout": "30min",

		// So that a server that is killed leaves no shared memory outside of its directory.
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

// walRoom is how large the log may grow on a disk with so many bytes free, in MB: a quarter, within
// bounds, so that a long run does not fill a small disk.
func walRoom(freeBytes uint64) int {
	quarterMB := freeBytes / 4 >> 20
	return int(max(minWALSizeMB, min(quarterMB, maxWALSizeMB)))
}

// serverSettings are ours with the user's over them. track_wal_io_timing came with version 14.
func (o Options) serverSettings(version, walMB int) map[string]string {
	settings := measuringSettings(walMB)
	if version < 140000 {
		delete(settings, "track_wal_io_timing")
	}
	maps.Copy(settings, o.Settings)
	return settings
}

// withoutStatementStats is for a server that lacks the library, which it would not start with.
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

// configFile writes settings in the form of postgresql.conf, sorted.
func configFile(settings map[string]string) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		value := strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(settings[name])
		fmt.Fprintf(&text, "%s = '%s'\n", name, value)
	}
	return text.String()
}

// commandLine writes settings as arguments for postgres, sorted.
func commandLine(settings map[string]string) []string {
	var args []string
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	return args
}
