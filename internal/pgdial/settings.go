package pgdial

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// statementTimeout bounds each statement, so that no lock is waited for indefinitely.
const statementTimeout = 60 * time.Second

// idleTimeout bounds how long a transaction may wait for its engine between two statements. They take no time there, so an engine
// that lets one wait for so long is paused or cut off, and holds locks that others wait for: in pull, all other scans of its shard.
// It is an engine's default lease: after that, others have its work anyway. The server then ends the session, and the engine
// repeats the transaction.
const idleTimeout = 10 * time.Second

// setting is one setting of the server.
type setting struct{ name, value string }

// settings returns those that every statement on a schema is executed with.
func settings(schema string) []setting {
	return []setting{
		{"search_path", pgx.Identifier{schema}.Sanitize()},
		{"enable_seqscan", "off"},
		{"random_page_cost", "0.01"},
		{"enable_bitmapscan", "off"},
		{"enable_indexonlyscan", "off"}, // the server's counters omit their rows
		{"enable_sort", "off"},          // all ordered reads have an index
		{"enable_incremental_sort", "off"},
		{"jit", "off"},
		{"plan_cache_mode", "force_generic_plan"},
		{"statement_timeout", strconv.FormatInt(statementTimeout.Milliseconds(), 10)},
		{"idle_in_transaction_session_timeout", strconv.FormatInt(idleTimeout.Milliseconds(), 10)},
	}
}

// set returns a statement that makes the settings, for a transaction or for a session.
func set(all []setting, local bool) string {
	calls := make([]string, len(all))
	for i, s := range all {
		calls[i] = fmt.Sprintf("set_config(%s, %s, %t)", literal(s.name), literal(s.value), local)
	}
	return "SELECT " + strings.Join(calls, ", ")
}

// literal quotes a text, whatever standard_conforming_strings is.
func literal(text string) string {
	if strings.Contains(text, `\`) {
		return "E'" + strings.NewReplacer(`\`, `\\`, "'", "''").Replace(text) + "'"
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

// without returns the settings but for one.
func without(all []setting, name string) []setting {
	return slices.DeleteFunc(slices.Clone(all), func(s setting) bool { return s.name == name })
}
