package engine

import (
	"context"

	"pulley/engine/dispatch"
)

// actions holds the contexts of running tasks by the tasks' ids. Those are given in order, so tasks that began together
// stand on one page: their contexts are allocated at once, and the map stays small.
type actions struct {
	pages  map[dispatch.TaskID]*actionPage // by id / pageActions, those on which a task runs
	newest *actionPage                     // that was made last, where id / pageActions is at
	at     dispatch.TaskID
}

// pageActions is how many contexts a page has. One that an action keeps beyond its end keeps its page's memory.
const pageActions = 16

type actionPage struct {
	contexts [pageActions]actionContext
	running  [pageActions]bool
	count    int // of those that run
}

// add makes the context of a task that begins.
func (a *actions) add(id dispatch.TaskID, parent context.Context) *actionContext {
	at := id / pageActions
	p := a.newest
	if p == nil || a.at != at {
		if p = a.pages[at]; p == nil {
			p = new(actionPage)
			a.newest, a.at = p, at
		}
	}
	if p.count == 0 {
		a.pages[at] = p
	}
	p.running[id%pageActions] = true
	p.count++
	c := &p.contexts[id%pageActions]
	c.parent = parent
	return c
}

// get gives the context of a running task; nil: none of that id runs.
func (a *actions) get(id dispatch.TaskID) *actionContext {
	p := a.pages[id/pageActions]
	if p == nil || !p.running[id%pageActions] {
		return nil
	}
	return &p.contexts[id%pageActions]
}

// remove lets go of the context of a running task, which may go on to use it.
func (a *actions) remove(id dispatch.TaskID) {
	p := a.pages[id/pageActions]
	p.running[id%pageActions] = false
	if p.count--; p.count == 0 {
		delete(a.pages, id/pageActions)
	}
}
