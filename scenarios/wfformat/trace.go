package wfformat

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"unicode"
)

// Trace is one recorded or generated workflow. Parse, ReadFile and Generate return traces that keep the promises of each field;
// Check verifies others.
type Trace struct {
	File          string // origin, as given; empty for a generated trace. Not written
	Name          string // never empty
	Description   string // may be empty
	CreatedAt     string // as in the file; may be empty
	ExecutedAt    string // as in the file; may be empty
	SchemaVersion string // as in the file; empty if absent

	// in file order, not necessarily an order of execution; at least one
	Tasks []Task

	Files []File

	Machines []Machine

	// of the recorded run; zero if unknown
	MakespanSeconds float64

	// accepted irregularities, one line each; not written
	Warnings []string
}

// Task is a task of a trace.
type Task struct {
	ID   string // unique, not empty
	Name string // not empty; several tasks may share it

	// Parents must complete before. They are indices of Trace.Tasks, ascending, without duplicates or cycles.
	Parents []int

	Inputs  []string // ids of read files; not necessarily in Trace.Files
	Outputs []string // ids of written files; not necessarily in Trace.Files

	ExecutedAt string   // start, as in the file; may be empty
	Machines   []string // names; not necessarily in Trace.Machines

	// from zero to RuntimeSecondsMax; zero if unknown
	RuntimeSeconds float64
}

// File is a file that tasks read or write.
type File struct {
	ID        string
	SizeBytes int64 // zero if unknown
}

// Machine is one on which tasks ran. Zero values are unknown.
type Machine struct {
	Name         string // not empty
	System       string // such as linux
	Architecture string
	CPU          string // the processor's or its vendor's name
	Cores        int
	MemoryBytes  int64
}

// RuntimeSecondsMax bounds a task's run time: about thirty years, which a time.Duration can hold.
const RuntimeSecondsMax = 1e9

// Limits bounds what is read. Zero fields have their defaults.
type Limits struct {
	Bytes int // of the file; default 256 MiB
	Tasks int // default 100,000
	Edges int // on either side; default 2,000,000
}

func (l Limits) withDefaults() Limits {
	l.Bytes = cmp.Or(l.Bytes, 256<<20)
	l.Tasks = cmp.Or(l.Tasks, 100_000)
	l.Edges = cmp.Or(l.Edges, 2_000_000)
	return l
}

// ReadFile reads a trace from a file. The error is an *Error if the file is no trace, else the operating system's; either is
// one line that names the file.
func ReadFile(path string, lim Limits) (*Trace, error) {
	lim = lim.withDefaults()
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the trace: %w", err)
	}
	defer f.Close()
	// One byte over the limit shows the excess, whatever Stat says.
	data, err := io.ReadAll(io.LimitReader(f, int64(lim.Bytes)+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read the trace: %w", err)
	}
	return Parse(path, data, lim)
}

// Label names the trace for people, on one short line: by its file without the ending, since files of one collection share the
// name within, or by its name if it has no file.
func (t *Trace) Label() string {
	label := t.Name
	if t.File != "" {
		label = nameOf(t.File)
	}
	runes := []rune(label)
	for i, r := range runes {
		if !unicode.IsPrint(r) {
			runes[i] = '_'
		}
	}
	return string(runes[:min(len(runes), 80)])
}

// Edges is the number of dependencies.
func (t *Trace) Edges() int {
	n := 0
	for i := range t.Tasks {
		n += len(t.Tasks[i].Parents)
	}
	return n
}

// Roots returns the tasks without parents, in order.
func (t *Trace) Roots() []int {
	var roots []int
	for i := range t.Tasks {
		if len(t.Tasks[i].Parents) == 0 {
			roots = append(roots, i)
		}
	}
	return roots
}

// Sinks returns the tasks without children, in order.
func (t *Trace) Sinks() []int {
	parent := make([]bool, len(t.Tasks))
	for i := range t.Tasks {
		for _, p := range t.Tasks[i].Parents {
			parent[p] = true
		}
	}
	var sinks []int
	for i, is := range parent {
		if !is {
			sinks = append(sinks, i)
		}
	}
	return sinks
}

// Depth is the number of tasks on the longest path.
func (t *Trace) Depth() int {
	order, _ := t.order()
	depth, most := make([]int, len(t.Tasks)), 0
	for _, i := range order {
		depth[i] = 1
		for _, p := range t.Tasks[i].Parents {
			depth[i] = max(depth[i], depth[p]+1)
		}
		most = max(most, depth[i])
	}
	return most
}

// CriticalPathSeconds is the longest sum of run times along a path: the least makespan with any number of workers.
func (t *Trace) CriticalPathSeconds() float64 {
	order, _ := t.order()
	end, most := make([]float64, len(t.Tasks)), 0.0
	for _, i := range order {
		for _, p := range t.Tasks[i].Parents {
			end[i] = max(end[i], end[p])
		}
		end[i] += t.Tasks[i].RuntimeSeconds
		most = max(most, end[i])
	}
	return most
}
