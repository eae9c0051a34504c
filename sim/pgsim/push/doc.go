// Package push has the tables and the statements of package push of the engine, simulated.
//
// The design is the real one, on a postgres.Host. It says which events a statement is for, so that the model of an instance obeys its
// plans. Of the statement that applies plans each text is known, and read with the parameters that it takes. The place of a commit's
// mark belongs to one transaction at a time (D7).
package push
