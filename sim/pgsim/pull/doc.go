// Package pull has the tables and the statements of package pull of the engine, simulated, for both of its scans.
//
// The design is the real one, on a postgres.Host. It does not say what it has planned, as its cycles replay the ledger or ask the
// database: the model plans by itself what the ends of attempts lead to, and what runs the ledger has, with their attempts, is held
// against it; of scan=sql the values beside it as well. The lock of cycles is a row.
package pull
