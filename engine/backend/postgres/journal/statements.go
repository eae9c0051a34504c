package journal

import (
	"fmt"
	"sync"

	"pulley/engine/backend/postgres"
)

// kinds are what an append can have to do, each a part of append.sql.
type kinds uint8

const (
	events     kinds = 1 << iota
	eventKinds       // some are no results, or time matters
	ends
	endKinds // some did not complete
	births
	birthKinds // some ended at once
	known      // some are there already
	snapshots

	everything kinds = 1<<iota - 1
)

// wants says for each mark of append.sql whether its part is needed.
var wants = map[string]func(kinds) bool{
	"events": func(k kinds) bool { return k&events != 0 }, "kinds": func(k kinds) bool { return k&eventKinds != 0 },
	"results": func(k kinds) bool { return k&eventKinds == 0 },
	"ends":    func(k kinds) bool { return k&ends != 0 }, "statuses": func(k kinds) bool { return k&endKinds != 0 },
	"completed": func(k kinds) bool { return k&endKinds == 0 },
	"births":    func(k kinds) bool { return k&births != 0 }, "over": func(k kinds) bool { return k&birthKinds != 0 },
	"running": func(k kinds) bool { return k&birthKinds == 0 }, "known": func(k kinds) bool { return k&known != 0 },
	"snapshots": func(k kinds) bool { return k&snapshots != 0 },
}

// statement is append.sql for some kinds of work.
type statement struct {
	name, sql  string
	parameters []int // the places in buffers.args of $1, $2, …
}

// statements are all that can be needed, each made when it is.
var statements [int(everything) + 1]func() statement

func init() {
	for k := range statements {
		statements[k] = sync.OnceValue(func() statement {
			sql, parameters := postgres.CutDown(appendSQL, func(part string) bool { return wants[part](kinds(k)) })
			return statement{fmt.Sprintf("journal_append_%d", k), sql, parameters}
		})
	}
}
