// Package signalstore stores signals on Postgres, for all designs: each embeds a [SignalTable]. The tables are one of package pgstore's
// migrations. Each call is a statement, or a batch of them that is sent at once, so that an engine that is stopped holds no lock.
package signalstore
