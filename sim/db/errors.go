package db

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

// errWait says that a statement waits or yields and is to be called again.
var errWait = errors.New("db: the statement is not over")

// Waits reports whether a statement's error only says that it is to be called again.
func Waits(err error) bool { return errors.Is(err, errWait) }

// The server's errors, worded as by the driver, so that the code that reads real errors reads these.
var (
	ErrDeadlock    error = &pgconn.PgError{Severity: "ERROR", Code: "40P01", Message: "deadlock detected"}
	ErrLocked      error = &pgconn.PgError{Severity: "ERROR", Code: "55P03", Message: "could not obtain lock on row"}
	ErrLockTimeout error = &pgconn.PgError{Severity: "ERROR", Code: "55P03", Message: "canceling statement due to lock timeout"}
	ErrUnique      error = &pgconn.PgError{Severity: "ERROR", Code: "23505", Message: "duplicate key value violates unique constraint"}
	ErrTwice       error = &pgconn.PgError{Severity: "ERROR", Code: "21000", Message: "ON CONFLICT DO UPDATE command cannot affect row a second time"}
	ErrNull        error = &pgconn.PgError{Severity: "ERROR", Code: "23502", Message: "null value violates not-null constraint"}
	ErrFuture      error = &pgconn.PgError{Severity: "ERROR", Code: "22023", Message: "transaction ID is in the future"}
	ErrDivision    error = &pgconn.PgError{Severity: "ERROR", Code: "22012", Message: "division by zero"}
	ErrCanceled    error = &pgconn.PgError{Severity: "ERROR", Code: "57014", Message: "canceling statement due to statement timeout"}
	ErrFailed      error = &pgconn.PgError{Severity: "ERROR", Code: "25P02", Message: "current transaction is aborted"}
	ErrShutdown    error = &pgconn.PgError{Severity: "FATAL", Code: "57P01", Message: "terminating connection due to administrator command"}
	ErrStarting    error = &pgconn.PgError{Severity: "FATAL", Code: "57P03", Message: "the database system is starting up"}
	ErrDiskFull    error = &pgconn.PgError{Severity: "ERROR", Code: "53100", Message: "could not extend file: No space left on device"}
	ErrNoRollback        = errors.New("db: commit of a transaction that had failed")
)

// CheckViolation returns the error of a row that violates a constraint.
func CheckViolation(constraint string) error {
	return &pgconn.PgError{Severity: "ERROR", Code: "23514", Message: "new row violates check constraint", ConstraintName: constraint}
}
