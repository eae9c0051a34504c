package postgres

import (
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// The defaults of Config.
const (
	DefaultShards      = 4
	DefaultConnections = 8
)

// PoolMode says what is between a store and its server.
type PoolMode string

// The modes.
const (
	// PoolDetect asks the server through the connection. Whatever pools connections counts as PoolTransaction.
	PoolDetect PoolMode = ""
	// PoolNone is a server that is connected directly.
	PoolNone PoolMode = "none"
	// PoolSession is a pooler that leaves a server connection to its client until that disconnects.
	PoolSession PoolMode = "session"
	// PoolTransaction is a pooler that may serve each transaction on another server connection.
	PoolTransaction PoolMode = "transaction"
)

// ParsePoolMode parses detect, none, session or transaction; an empty text is detect.
func ParsePoolMode(text string) (PoolMode, error) {
	switch m := PoolMode(text); m {
	case "detect":
		return PoolDetect, nil
	case PoolDetect, PoolNone, PoolSession, PoolTransaction:
		return m, nil
	}
	return "", fmt.Errorf("pool mode %q; choose detect, none, session or transaction", text)
}

// Config says which database a store is in and how it is used.
type Config struct {
	DSN    string // a connection string or URL; empty: the PG* variables
	Schema string // holds the design's tables; created if missing; not empty

	// PoolMode says what is between the store and its server. Zero: PoolDetect.
	PoolMode PoolMode

	// DirectDSN reaches the database of DSN past a pooler. Notifications arrive on it. Empty: they arrive through DSN; through a
	// pooler of transactions there are none then, and engines find each other's work by polling.
	DirectDSN string

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
