package stored

import (
	"bytes"
	"fmt"
	"strings"

	"pulley/cmd/pulley/console"
	"pulley/engine/inspect"
	"pulley/internal/aligned"
	"pulley/internal/clip"
	"pulley/internal/plural"
)

// overviewLines are the lines of an overview without instances, limits and schedules.
const overviewLines = 8

// namedMost bounds the limits, and the schedules, of an overview.
const namedMost = 5

// overviewText draws an overview for a terminal of a size in cells; zero: for something endless. problem is why there is no newer one.
func overviewText(place string, o *overview, problem error, width, height int) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s, %s\n", place, inspect.Moment(o.At))
	if problem != nil {
		fmt.Fprintf(&b, "no newer look: %s\n", console.OneLine(problem.Error()))
	}
	b.WriteString(recentText(o.Recent))
	named(&b, "limit", len(o.Limits), func(i int) string { return o.Limits[i].Sentence })
	named(&b, "schedule", len(o.Schedules), func(i int) string { return o.Schedules[i].Sentence })
	b.WriteByte('\n')
	if len(o.Instances) == 0 {
		b.WriteString("no instance runs\n")
	} else {
		writeRows(&b, o, width == 0 || width >= wideCells)
	}
	return cut(b.String(), width, height)
}

// wideCells is the width from which on there are counts of node runs, which would leave too little for what an instance waits for.
const wideCells = 130

func writeRows(b *bytes.Buffer, o *overview, counts bool) {
	head := []string{"ID", "WORKFLOW", "AGE"}
	if counts {
		head = append(head, "DONE", "RUNNING", "WAITING")
	}
	rows := [][]string{append(head, "WAITS FOR")}
	for _, in := range o.Instances {
		row := []string{in.ID.String(), end(in.Workflow[strings.LastIndexByte(in.Workflow, '/')+1:], nameMax/2), inspect.Pause(o.At.Sub(in.Submitted))}
		if counts {
			row = append(row, countCells(in.counts)...)
		}
		rows = append(rows, append(row, strings.TrimPrefix(console.OneLine(in.WaitsFor), "It waits for ")))
	}
	last := len(head)
	aligned.Write(b, rows, func(column int) bool { return column < 2 || column == last })
}

func recentText(n recent) string {
	of := plural.Of(n.Instances, "instance")
	if n.More {
		of = "the newest " + of
	}
	return fmt.Sprintf("%s: %d running, %d completed, %d failed, %d canceled\nin the last %.0f s: %.1f submitted and %.1f ended a second\n",
		of, n.Running, n.Completed, n.Failed, n.Canceled, n.Seconds, float64(n.Submitted)/n.Seconds, float64(n.Ended)/n.Seconds)
}

func named(b *bytes.Buffer, what string, n int, sentence func(int) string) {
	for i := range min(n, namedMost) {
		fmt.Fprintf(b, "  %s\n", console.OneLine(sentence(i)))
	}
	if n > namedMost {
		fmt.Fprintf(b, "  and %s more\n", plural.Of(n-namedMost, what))
	}
}

// cut lets a text fit a size.
func cut(text string, width, height int) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if height > 0 && len(lines) > height-1 {
		lines = lines[:max(height-1, 1)]
	}
	for i, line := range lines {
		if width > 1 {
			lines[i] = clip.Runes(line, width-1)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}
