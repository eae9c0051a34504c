// Package eager has the tables and the statements of package eager of the engine, simulated.
//
// The design is the real one, on a postgres.Host. It says which events a statement is for, so that the model of an instance obeys its
// plans.
package eager
