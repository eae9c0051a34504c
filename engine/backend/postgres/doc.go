// Package postgres has what users of the designs on Postgres need in addition: the [Config] of a store, and functions for a
// schema.
//
// Each package below is one design. A design is opened with a Config and has its own schema, so that several can share a
// database. [Exists] reports whether a schema is set up, and [DropSchema] removes it. [Explain] turns an error of the driver
// into one line that says what to do, as the errors of the designs are.
package postgres
