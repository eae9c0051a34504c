// Package designtest is shared by the tests of the designs on Postgres: a store with instances, connections cut at every message,
// and cases that each design runs.
package designtest
