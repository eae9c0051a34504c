package dispatch

import (
	"cmp"
	"slices"
)

// pageTasks is how many tasks a page has. One that is held long keeps its page's memory, some kilobytes.
const pageTasks = 16

// table holds tasks by their ids, and their memory. IDs are given in order, so tasks that came together stand on
// one page: they are allocated at once, and the map of pages stays small where many tasks are held.
type table struct {
	pages  map[TaskID]*page // by id / pageTasks, those on which a task is held
	newest *page            // where the next one goes, unless it is full
	last   TaskID           // that was given
	count  int              // tasks held
}

type page struct {
	tasks [pageTasks]task
	held  int
}

// add makes room for one more task, and gives it the next id.
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

// get gives a task that is held; nil: none of that id is.
func (tt *table) get(id TaskID) *task {
	p := tt.pages[id/pageTasks]
	if p == nil || !p.tasks[id%pageTasks].held {
		return nil
	}
	return &p.tasks[id%pageTasks]
}

// remove lets go of a task that is held. Whoever has its address may go on to read what it was.
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

// byAge gives the tasks that are held and for which it is asked to, oldest first.
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
