package trial

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pulley/adapter/judge"
	"pulley/adapter/protocol"
	"pulley/internal/aligned"
)

// Text is the finding for terminals.
func (f *Finding) Text() string {
	r := f.First
	if f.Smallest != nil {
		r = f.Smallest
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s %s, %d processes of %d slots, seed %d, %.0f s\n", f.Outcome(), r.Hello.System, r.Hello.SystemVersion, r.Case.Processes, r.Case.Slots,
		r.Case.Seed, float64(r.LastedMS)/1000)
	if f.First.Outcome() == judge.Breaks {
		b.WriteString(f.confirmation(len(r.Case.Faults)))
	}
	b.WriteString(r.Verdict.Text())
	for _, doubt := range r.Doubts {
		fmt.Fprintf(&b, "inconclusive: %s\n", doubt)
	}
	for _, kind := range slices.Sorted(maps.Keys(r.Faults)) {
		fmt.Fprintf(&b, "  %-22s %d\n", kind, r.Faults[kind])
	}
	if c := r.Coverage; c != nil && r.Case.ExhaustMS > 0 {
		fmt.Fprintf(&b, "messages    %d of %d kinds of transactions", c.Baseline, c.Transactions)
		for _, way := range slices.Sorted(maps.Keys(c.Covered)) {
			fmt.Fprintf(&b, "; %d %s", c.Covered[way], way)
		}
		b.WriteString("\n")
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	return b.String()
}

// confirmation reports whether a violation came again; left is the number of faults of the smallest case.
func (f *Finding) confirmation(left int) string {
	faults := len(f.First.Case.Faults)
	switch {
	case f.Confirmed > 0 && f.Interrupted:
		return fmt.Sprintf("The violation came again when the case was repeated. The search for a smaller case was interrupted. What follows is the smallest one until then, with %d of %d faults.\n", left, faults)
	case f.Confirmed > 0:
		return fmt.Sprintf("The violation came again when the case was repeated. What follows is the smallest case that shows it, with %d of %d faults.\n", left, faults)
	case f.Interrupted:
		return fmt.Sprintf("The violation did not come again in %d repetitions, and the next was interrupted, so it is not called one.\n", f.Repeats)
	}
	return fmt.Sprintf("The violation did not come again in %d repetitions, so it is not called one.\n", f.Repeats)
}

// Table compares the findings of several systems: what they promise and what became of it, what their work took before and after the
// faults, if that was measured, and which faults hit them.
func Table(findings []*Finding) string {
	var b bytes.Buffer
	rows := [][]string{{"system", "promise", "verdict", "instances", "lost", "executions", "repeated", "continues p50", "p99"}}
	for _, f := range findings {
		c, h := f.First.Verdict.Counts, f.First.Hello
		row := []string{
			h.System, promise(f), string(f.Outcome()), fmt.Sprint(c.InstancesSubmitted), fmt.Sprint(c.InstancesLost), fmt.Sprint(c.Executions), fmt.Sprint(c.RepeatedExecutions),
		}
		if c.Restarts.Instances > 0 {
			row = append(row, fmt.Sprintf("%.0f ms", c.Restarts.P50MS), fmt.Sprintf("%.0f ms", c.Restarts.P99MS))
		} else {
			row = append(row, "–", "–")
		}
		rows = append(rows, row)
	}
	aligned.Write(&b, rows, func(column int) bool { return column < 3 })
	if slices.ContainsFunc(findings, func(f *Finding) bool { return f.First.Before != nil }) {
		b.WriteString("\nWithout faults, before them and after:\n")
		aligned.Write(&b, quietRows(findings), func(column int) bool { return column == 0 })
	}
	if rows := faultRows(findings); len(rows) > 1 {
		b.WriteString("\nFaults that happened:\n")
		aligned.Write(&b, rows, func(column int) bool { return column == 0 })
	}
	return b.String()
}

// quietRows has a row for each system, and two columns for each figure.
func quietRows(findings []*Finding) [][]string {
	rows := [][]string{{"system", "tasks/s", "after", "writes/task", "after", "WAL kB/task", "after", "server µs/task", "after", "processes µs/task", "after"}}
	for _, f := range findings {
		row := []string{f.First.Hello.System}
		for _, figure := range []struct {
			of     func(*Quiet) float64
			digits int
		}{
			{func(q *Quiet) float64 { return q.TasksPerS }, 0}, {func(q *Quiet) float64 { return q.WritesPerTask }, 2},
			{func(q *Quiet) float64 { return q.WALBytesPerTask / 1000 }, 2}, {func(q *Quiet) float64 { return q.ServerUSPerTask }, 0},
			{func(q *Quiet) float64 { return q.ProcessUSPerTask }, 0},
		} {
			for _, q := range []*Quiet{f.First.Before, f.First.After} {
				if q == nil || q.Tasks == 0 && len(row) > 2 { // no figure of a task without a task
					row = append(row, "–")
					continue
				}
				row = append(row, strconv.FormatFloat(figure.of(q), 'f', figure.digits, 64))
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// faultRows has a row for each kind of fault, and a column for each system.
func faultRows(findings []*Finding) [][]string {
	head, kinds := []string{"fault"}, map[string]bool{}
	for _, f := range findings {
		head = append(head, f.First.Hello.Name)
		for kind := range f.First.Faults {
			kinds[kind] = true
		}
	}
	rows := [][]string{head}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		row := []string{kind}
		for _, f := range findings {
			row = append(row, fmt.Sprint(f.First.Faults[kind]))
		}
		rows = append(rows, row)
	}
	return rows
}

// promise names in a few words what a system promises.
func promise(f *Finding) string {
	p := f.First.Hello.Promises
	words := []string{p.Execution}
	if p.Submit == protocol.Durable {
		words = append(words, "durable")
	}
	if p.Results == protocol.Once {
		words = append(words, "results once")
	}
	if p.Order == protocol.InOrder {
		words = append(words, "in order")
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), ", ")
}
