// Package designtest is what tests of the designs on Postgres share: a store with what was started in it, connections that are cut at
// every message, and cases that each design runs.
package designtest
