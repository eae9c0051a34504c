package push

import (
	"sync"

	"pulley/internal/pgstore"
)

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
	turns // of node runs

	everything kinds = 1<<iota - 1
)

var kindNames = map[string]kinds{
	"completions": completions, "retries": retries, "instances": instances, "values": values,
	"elements": elements, "arrivals": arrivals, "runs": runs, "ends": ends, "turns": turns,
}

// smallBatch is the most events for which unused parts of the statement are removed. In larger commits they cost next to nothing.
const smallBatch = 256

type statement struct {
	sql        string
	parameters []int // the indices in arrays.args of $1, $2, …
}

var statements [int(everything) + 1]func() statement

func init() {
	for k := range statements {
		statements[k] = sync.OnceValue(func() statement { return cutDown(applySQL, kinds(k)) })
	}
}

func statementFor(k kinds, n int) (statement, kinds) {
	if n > smallBatch {
		k = everything
	}
	return statements[k](), k
}

func cutDown(sql string, k kinds) statement {
	var s statement
	s.sql, s.parameters = pgstore.CutDown(sql, func(part string) bool { return k&kindNames[part] != 0 })
	return s
}
