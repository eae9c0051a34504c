package pull

import "embed"

//go:embed sql/*.sql
var statementFiles embed.FS

// SQL gives a statement as it is sent, by the name of its file: a simulated host has to know what it is asked.
func SQL(name string) (string, error) { return ledger.SQL(name) }
