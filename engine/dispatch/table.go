package dispatch

import (
	"cmp"
	"slices"
)

// A task held for long keeps its page's memory, some kilobytes.
const pageTasks = 16

// table holds tasks by id, with their memory. Ids ascend, so tasks that came together share a page: one allocation for all, and
// a small map.
type table struct {
	pages  map[TaskID]*page // keys: id / pageTasks
	newest *page            // for the next task, unless full
	last   TaskID
	count  int
}

type page struct {
	tasks [pageTasks]task
	held  int
}

func (tt *table) add() *task {
	tt.last++
	if tt.newest == nil || tt.last%pageTasks == 0 {
		tt.newest = new(page)
	}
	p := tt.newest
	if p.held == 0 {
		tt.pages[tt.last/pageTasks] = p
	}
	p.held++
	tt.count++
	t := &p.tasks[tt.last%pageTasks]
	t.id, t.held = tt.last, true
	return t
}

func (tt *table) get(id TaskID) *task {
	p := tt.pages[id/pageTasks]
	if p == nil || !p.tasks[id%pageTasks].held {
		return nil
	}
	return &p.tasks[id%pageTasks]
}

// remove leaves most of the task readable to holders of its address.
func (tt *table) remove(t *task) {
	t.held = false
	t.task.Args, t.result, t.failure = nil, nil, nil
	tt.count--
	at := t.id / pageTasks
	p := tt.pages[at]
	if p.held--; p.held == 0 {
		delete(tt.pages, at)
	}
}

// byAge returns the oldest first.
func (tt *table) byAge(take func(*task) bool) []*task {
	var tasks []*task
	for _, p := range tt.pages {
		for i := range p.tasks {
			if t := &p.tasks[i]; t.held && take(t) {
				tasks = append(tasks, t)
			}
		}
	}
	slices.SortFunc(tasks, func(a, b *task) int { return cmp.Compare(a.id, b.id) })
	return tasks
}
