// Package pgshow reads what the designs on Postgres store of instances, for people: each call is one transaction that only reads,
// finds its rows by the keys of tables, and is bounded in what it reads.
package pgshow
