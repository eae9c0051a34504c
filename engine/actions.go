package engine

import (
	"context"

	"pulley/engine/dispatch"
)

// actions holds the contexts of running tasks by id. Ids ascend, so tasks that started together share a page: one allocation
// for all, and a small map.
type actions struct {
	pages  map[dispatch.TaskID]*actionPage // keys: id / pageActions
	newest *actionPage
	at     dispatch.TaskID
}

// pageActions is the number of contexts of a page. An action that keeps its context beyond its end keeps the page's memory.
const pageActions = 16

type actionPage struct {
	contexts [pageActions]actionContext
	running  [pageActions]bool
	count    int
}

func (a *actions) add(parent context.Context, id dispatch.TaskID) *actionContext {
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

func (a *actions) get(id dispatch.TaskID) *actionContext {
	p := a.pages[id/pageActions]
	if p == nil || !p.running[id%pageActions] {
		return nil
	}
	return &p.contexts[id%pageActions]
}

// The task may still use its context.
func (a *actions) remove(id dispatch.TaskID) {
	p := a.pages[id/pageActions]
	p.running[id%pageActions] = false
	if p.count--; p.count == 0 {
		delete(a.pages, id/pageActions)
	}
}
