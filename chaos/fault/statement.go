package fault

import "sync"

// statement is what is read of the text of one.
type statement struct {
	name    string
	writes  bool   // it changes rows
	purpose string // see purposeOf
}

// statementsMax bounds the statements that are remembered.
const statementsMax = 4096

// statements remembers what was read of the texts that came: the same few come with every message, and to read them anew
// took more time than all else that a wire does.
var statements = struct {
	mu     sync.Mutex
	byText map[string]statement
}{byText: map[string]statement{}}

// read reads a statement, once.
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
