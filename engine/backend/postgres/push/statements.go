package push

import (
	"sync"

	"pulley/engine/backend/postgres"
)

// kinds are what events of a commit can bring, each a part of apply.sql.
type kinds uint16

const (
	completions kinds = 1 << iota
	retries           // among the completions
	instances
	values
	elements
	arrivals
	runs
	ends
	shared // values

	everything kinds = 1<<iota - 1
)

// kindNames are the marks of the parts in apply.sql.
var kindNames = map[string]kinds{
	"completions": completions, "retries": retries, "instances": instances, "values": values,
	"elements": elements, "arrivals": arrivals, "runs": runs, "ends": ends, "shared": shared,
}

// smallBatch is how many events a commit has at most that is given a statement of its own kinds. In greater
// ones the parts that have nothing to do cost nothing to speak of.
const smallBatch = 256

// statement is apply.sql for some kinds of events.
type statement struct {
	sql        string
	parameters []int // the places in arrays.args of $1, $2, …
}

// statements are all that can be needed, each made when it is.
var statements [int(everything) + 1]func() statement

func init() {
	for k := range statements {
		statements[k] = sync.OnceValue(func() statement { return cutDown(applySQL, kinds(k)) })
	}
}

// statementFor gives the statement for a commit of n events.
func statementFor(k kinds, n int) (statement, kinds) {
	if n > smallBatch {
		k = everything
	}
	return statements[k](), k
}

// cutDown leaves out of apply.sql the parts of kinds that are not there.
func cutDown(sql string, k kinds) statement {
	var s statement
	s.sql, s.parameters = postgres.CutDown(sql, func(part string) bool { return k&kindNames[part] != 0 })
	return s
}
