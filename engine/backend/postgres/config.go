package postgres

import (
	"encoding/json"

	"github.com/jackc/pgx/v5"
)

// The defaults of Config.
const (
	DefaultShards      = 4
	DefaultConnections = 8
)

// Config says which database a store is in and how it is used.
type Config struct {
	DSN    string // a connection string or URL; empty: the PG* variables
	Schema string // holds the design's tables; created if missing; not empty

	// Shards is fixed when the schema is set up. Zero: the stored number, or DefaultShards. Another number than the stored one is
	// an error.
	Shards int

	Connections int             // most connections, at least 2; zero: DefaultConnections
	Application string          // application_name; empty: "pulley"
	Tracer      pgx.QueryTracer // sees every query; nil: none

	// Problem receives, one line each, errors that no call returns: of listening, renewing and returning leases. They are retried
	// or harmless. Nil: none.
	Problem func(error)
}

// Origin is what an instance was created from.
type Origin struct {
	Program []byte // the hash of its program
	Input   json.RawMessage
}
