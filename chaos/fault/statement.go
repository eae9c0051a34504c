package fault

import "sync"

type statement struct {
	name    string
	writes  bool
	purpose string
}

const statementsMax = 4096

// statements caches by text, because the same few texts come with every message and parsing took more time than all else that a
// wire does.
var statements = struct {
	mu     sync.Mutex
	byText map[string]statement
}{byText: map[string]statement{}}

// read parses a statement, once.
func read(sql string) statement {
	statements.mu.Lock()
	defer statements.mu.Unlock()
	known, found := statements.byText[sql]
	if !found {
		if len(statements.byText) >= statementsMax {
			clear(statements.byText)
		}
		known = statement{nameOf(sql), writesRows(sql), purposeOf(sql)}
		statements.byText[sql] = known
	}
	return known
}
