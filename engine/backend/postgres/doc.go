// Package postgres says where the designs on Postgres keep their tables, and helps with such a place: [Exists] and [DropSchema].
//
// The packages below are one design each. Each is opened with a [Config] of its store, and has its own schema, so that several can
// share a database. Their errors are one line and say what to do; [Explain] makes such a line of a driver's error.
package postgres
