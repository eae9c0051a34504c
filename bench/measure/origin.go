package measure

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"

	"github.com/jackc/pgx/v5"

	"pulley/reports/record"
)

// serverSettings decide durability and speed, most relevant first.
var serverSettings = []string{
	"fsync", "synchronous_commit", "full_page_writes", "wal_level", "wal_sync_method", "commit_delay",
	"synchronous_standby_names", "default_transaction_isolation", "max_connections", "shared_buffers", "work_mem",
	"effective_cache_size", "wal_buffers", "max_wal_size", "checkpoint_timeout", "wal_compression", "autovacuum",
	"random_page_cost", "jit", "plan_cache_mode", "track_io_timing", "shared_preload_libraries",
}

// Server describes the server of conn. way is how it was obtained.
func Server(ctx context.Context, conn *pgx.Conn, way string) (*record.Postgres, error) {
	s := &session{conn: conn}
	var raw []byte
	if err := s.row(ctx, query("server"), []any{serverSettings}, &raw); err != nil {
		return nil, fmt.Errorf("measure: read the server's settings: %w", err)
	}
	out := &record.Postgres{}
	if err := json.Unmarshal(raw, out); err != nil {
		return nil, fmt.Errorf("measure: read the server's settings: %w", err)
	}
	out.Way = way
	return out, nil
}

// Host describes this machine; unknown fields are empty.
func Host() record.Host {
	return record.Host{
		OS: runtime.GOOS, Arch: runtime.GOARCH, CPU: cpuName(), Cores: runtime.GOMAXPROCS(0), MemoryBytes: memoryBytes(),
	}
}

// Tool describes the running program by its build information.
func Tool(name string) record.Tool {
	tool := record.Tool{Name: name, Version: "(unknown)", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return tool
	}
	if info.Main.Version != "" {
		tool.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			tool.Revision = s.Value
		case "vcs.modified":
			tool.Modified = s.Value == "true"
		}
	}
	return tool
}

var (
	urlPassword     = regexp.MustCompile(`(://[^:/?#@\s]*):[^/?#\s]*@`)
	keywordPassword = regexp.MustCompile(`(?i)\b((?:ssl)?password\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&'][^\s&]*)`)
)

// Command returns a command line without secrets: passwords in connection strings, URLs or keywords, become "***".
func Command(args []string) []string {
	out := make([]string, len(args))
	for i, arg := range args {
		arg = urlPassword.ReplaceAllString(arg, "$1:***@")
		out[i] = keywordPassword.ReplaceAllString(arg, "$1***")
	}
	return out
}

// Methods describe how figures from the server's counters are measured. The packages that measure times describe those.
func Methods() []record.Method {
	return []record.Method{
		{Figure: "rows_read_per_node", Text: "live rows that scans of the backend's own tables returned, from " +
			"pg_stat_user_tables: seq_tup_read plus idx_tup_fetch. Index-only scans would not be counted, so the backends' " +
			"sessions switch them off; dead index entries, system catalogs and TOAST are not in it. Read after all " +
			"sessions of the run had ended, divided by the node runs. Median over the valid runs."},
		{Figure: "statements_per_node", Text: "calls in pg_stat_statements in this database, without transaction control and " +
			"without the measuring session, divided by the node runs; where that extension is not there, the statements that the workload's client sent. " +
			"Failed statements are not in it. Median over the valid runs."},
		{Figure: "commits_per_node", Text: "xact_commit of pg_stat_database, without the measuring session and without the one " +
			"that Postgres counts for opening a session, divided by the node runs. Transactions that only read are in it. " +
			"Median over the valid runs."},
		{Figure: "wal_bytes_per_node", Text: "distance between pg_current_wal_insert_lsn before and after, divided by the node " +
			"runs. This is of the whole server, and includes full-page images after a checkpoint. Median over the valid runs."},
	}
}
