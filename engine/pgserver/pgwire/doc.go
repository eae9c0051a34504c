// Package pgwire stands between clients and a server that speak Postgres' protocol, sees every message
// of both, and does with it what a judge says: it can be lost, late or cut into pieces, and the connection
// can end before or after it. It is for tests of faults, and has nothing to do with TLS: its clients use
// sslmode=disable.
//
// A startup packet has a length only; every other message has a type byte and a length that counts
// itself. Requests to cancel a statement are passed through and are not judged.
package pgwire
