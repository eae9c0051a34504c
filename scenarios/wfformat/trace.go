package wfformat

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"unicode"
)

// Trace is one recorded or generated workflow. Parse, ReadFile and Generate return traces that hold
// what is said of each field; whoever makes one by hand must see to it, and Check tells.
type Trace struct {
	File          string // where it was read from, as given; empty for a generated trace. Not written
	Name          string // never empty
	Description   string // may be empty
	CreatedAt     string // as written in the file; may be empty
	ExecutedAt    string // as written in the file; may be empty
	SchemaVersion string // as written in the file; empty where it had none

	// Tasks stand in the order of the file, which need not be one in which they can run. There is at
	// least one.
	Tasks []Task

	Files []File // what tasks read and write; ids are unique

	Machines []Machine // on which tasks ran

	// MakespanSeconds is how long the recorded run took; zero where it is not known.
	MakespanSeconds float64

	// Warnings tell of what was taken although it is not as it should be, one line each. Not written.
	Warnings []string
}

// Task is one task of a trace.
type Task struct {
	ID   string // unique, not empty
	Name string // not empty; several tasks may share it

	// Parents are the tasks that must be done before, as indices of Trace.Tasks, ascending, without
	// duplicates. Following them never leads back to where one started.
	Parents []int

	Inputs  []string // ids of files that it read; not necessarily in Trace.Files
	Outputs []string // ids of files that it wrote; not necessarily in Trace.Files

	ExecutedAt string   // when it began, as written in the file; may be empty
	Machines   []string // names of those that it ran on; not necessarily in Trace.Machines

	// RuntimeSeconds is how long it ran, finite and between zero and RuntimeSecondsMax; zero where the
	// file does not say.
	RuntimeSeconds float64
}

// File is a file that tasks read or write.
type File struct {
	ID        string
	SizeBytes int64 // zero where it is not known
}

// Machine is one on which tasks ran. Zero values are not known.
type Machine struct {
	Name         string // not empty
	System       string // such as linux
	Architecture string
	CPU          string // the processor's name, or its vendor's
	Cores        int
	MemoryBytes  int64
}

// RuntimeSecondsMax is the longest run time that a task may have: about thirty years, which no
// recorded task reaches and a time.Duration can hold.
const RuntimeSecondsMax = 1e9

// Limits bounds what is read. The zero value of a field means its default.
type Limits struct {
	Bytes int // of the file; default 256 MiB
	Tasks int // default 100,000
	Edges int // named on either side; default 2,000,000
}

func (l Limits) withDefaults() Limits {
	l.Bytes = cmp.Or(l.Bytes, 256<<20)
	l.Tasks = cmp.Or(l.Tasks, 100_000)
	l.Edges = cmp.Or(l.Edges, 2_000_000)
	return l
}

// ReadFile reads the trace in a file. A file that is there but is no trace gives an *Error, any other
// failure the error of the operating system; either is one line that names the file.
func ReadFile(path string, lim Limits) (*Trace, error) {
	lim = lim.withDefaults()
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the trace: %w", err)
	}
	defer f.Close()
	// One byte more than allowed is enough to know that there are too many, whatever Stat says.
	data, err := io.ReadAll(io.LimitReader(f, int64(lim.Bytes)+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read the trace: %w", err)
	}
	return Parse(path, data, lim)
}

// Label names the trace to people: by its file without the ending, since many files of one collection
// carry the same name within, and by its name where there is no file. It is one short line.
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

// Edges counts the dependencies.
func (t *Trace) Edges() int {
	n := 0
	for i := range t.Tasks {
		n += len(t.Tasks[i].Parents)
	}
	return n
}

// Roots gives the tasks without parents, in order.
func (t *Trace) Roots() []int {
	var roots []int
	for i := range t.Tasks {
		if len(t.Tasks[i].Parents) == 0 {
			roots = append(roots, i)
		}
	}
	return roots
}

// Sinks gives the tasks that are nobody's parent, in order.
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

// Depth counts the tasks on the longest path.
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

// CriticalPathSeconds is the longest sum of run times along a path: the makespan that no number of
// workers can beat.
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
