package workload

import (
	"fmt"
	"slices"
	"strconv"

	"pulley/adapter/protocol"
	"pulley/engine/graph"
)

// unrolled lists all tasks, in the order in which they became ready.
func (u *unfold) unrolled() protocol.Workload {
	return protocol.Workload{Tasks: u.list(u.tasks, u.name)}
}

// needs counts what all tasks need.
func (u *unfold) needs() int {
	n := 0
	for _, t := range u.tasks {
		n += len(t.needs)
	}
	return n
}

// list makes the protocol's tasks. Needs outside of the tasks are left out.
func (u *unfold) list(tasks []*task, name func(*task) string) []protocol.Task {
	inside := make(map[*task]string, len(tasks))
	for _, t := range tasks {
		inside[t] = name(t)
	}
	out := make([]protocol.Task, len(tasks))
	for i, t := range tasks {
		out[i] = protocol.Task{Name: inside[t], MS: t.ms, Bytes: t.bytes, Fails: t.attempt - 1}
		for _, need := range t.needs {
			if name, is := inside[need]; is {
				out[i].Needs = append(out[i].Needs, name)
			}
		}
	}
	return out
}

// rounds returns the number of rounds if the workflow is one loop of equal rounds, each of which begins when the
// last task of the round before has ended; else 0.
func (u *unfold) rounds() int {
	first, _ := firstPart(u.tasks[0].run.Path)
	if first != 0 {
		return 0
	}
	size := slices.IndexFunc(u.tasks, func(t *task) bool {
		part, _ := firstPart(t.run.Path)
		return part != 0
	})
	if size <= 0 || len(u.tasks)%size != 0 {
		return 0
	}
	last, is := soleSink(u.tasks[:size])
	if !is {
		return 0
	}
	for i, t := range u.tasks {
		if !u.repeats(t, u.tasks[i%size], i/size, size, last) {
			return 0
		}
	}
	return len(u.tasks) / size
}

// repeats reports whether a task is, in its round, what another is in the first. last is the place of a round's last task.
func (u *unfold) repeats(t, model *task, round, size, last int) bool {
	part, inner := firstPart(t.run.Path)
	_, modelInner := firstPart(model.run.Path)
	switch {
	case part != round || t.run.Node != model.run.Node || inner != modelInner:
		return false
	case t.ms != model.ms || t.bytes != model.bytes || t.attempt != model.attempt:
		return false
	case round > 0 && len(model.needs) == 0:
		return len(t.needs) == 1 && t.needs[0].index == (round-1)*size+last
	case len(t.needs) != len(model.needs):
		return false
	}
	for i, need := range t.needs {
		if need.index != model.needs[i].index+round*size {
			return false
		}
	}
	return true
}

// firstPart splits a path; -1: it is empty.
func firstPart(path graph.Path) (first int, inner graph.Path) {
	part := path.Cut(1)
	n, err := strconv.Atoi(string(part))
	if err != nil {
		return -1, path
	}
	if len(part) < len(path) {
		inner = path[len(part)+1:]
	}
	return n, inner
}

// soleSink returns the place of the only task that none of the others needs.
func soleSink(tasks []*task) (place int, only bool) {
	needed := map[*task]bool{}
	for _, t := range tasks {
		for _, need := range t.needs {
			needed[need] = true
		}
	}
	place = -1
	for i, t := range tasks {
		switch {
		case needed[t]:
		case place >= 0:
			return 0, false
		default:
			place = i
		}
	}
	return place, place >= 0
}

// round lists the tasks of the first round, without the loop's part of their paths.
func (u *unfold) round(rounds int) protocol.Workload {
	tasks := u.tasks[:len(u.tasks)/rounds]
	return protocol.Workload{Repeat: rounds, Tasks: u.list(tasks, func(t *task) string {
		_, inner := firstPart(t.run.Path)
		return u.Program.RunName(graph.Run{Node: t.run.Node, Path: inner})
	})}
}

// notes tells what the graph leaves out.
func (u *unfold) notes() []string {
	var notes []string
	for _, name := range u.limits {
		notes = append(notes, fmt.Sprintf("spread %s: its limit is left out, and all elements are ready at once", name))
	}
	slices.Sort(u.soft)
	if u.soft = slices.Compact(u.soft); len(u.soft) > 0 {
		more := ""
		if n := len(u.soft) - 1; n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		notes = append(notes, fmt.Sprintf("%s%s: a soft group is left out, and the task needs the one that arrived first", u.soft[0], more))
	}
	return notes
}
