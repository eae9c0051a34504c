package pull

import "embed"

//go:embed sql/*.sql
var statementFiles embed.FS

// SQL returns a statement, as it is sent, by its file name.
func SQL(name string) (string, error) { return ledger.SQL(name) }
