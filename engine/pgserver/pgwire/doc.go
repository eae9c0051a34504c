// Package pgwire is a proxy between clients and a Postgres server that passes every message to a judge: it can lose, delay or
// split the message, and end the connection before or after it. It is for fault tests and does not support TLS: clients use
// sslmode=disable.
//
// A startup packet has a length only; every other message has a type byte and a length that includes itself. Requests to cancel
// a statement pass without judgement.
package pgwire
