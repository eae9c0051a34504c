package wfformat

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
)

// raw is a file's content, with names instead of indices.
type raw struct {
	trace Trace // without its tasks' parents

	hasFlow  bool
	hasSpec  bool
	hasTasks bool // the layout's list of tasks exists

	spec, flat []rawTask
	flatFiles  []File
	times      []rawTime
	edges      int // counted while reading, so that the limit stops a hostile file early
}

type rawTask struct {
	task     Task
	timed    bool // the file has its run time
	at       int
	parents  []reference
	children []reference
}

// reference is the id or name of another task.
type reference struct {
	text string
	at   int
}

// Version 1.5 stores a task's run time apart from the task.
type rawTime struct {
	id         reference
	timed      bool
	seconds    float64
	executedAt string
	machines   []string
}

// Parse parses a trace; file is for errors. Every error is an *Error.
func Parse(file string, data []byte, lim Limits) (*Trace, error) {
	lim = lim.withDefaults()
	if len(data) > lim.Bytes {
		return nil, &Error{File: file, Msg: fmt.Sprintf("the file is over the limit of %d bytes; take a smaller trace or raise the limit", lim.Bytes)}
	}
	c, err := newCursor(file, data)
	if err != nil {
		return nil, err
	}
	p := &parser{cursor: c, lim: lim, known: map[string]string{}}
	if c.data[c.at] != '{' {
		return nil, c.fail("not WfFormat: the file holds %s; a trace is an object with workflow.specification.tasks", c.kind())
	}
	if err := c.object(p.top); err != nil {
		return nil, err
	}
	if err := p.isTrace(); err != nil {
		return nil, err
	}
	return p.resolve()
}

type parser struct {
	*cursor
	lim   Limits
	raw   raw
	known map[string]string
}

func (p *parser) top(name string) (err error) {
	t := &p.raw.trace
	switch name {
	case "name":
		t.Name, err = p.label()
	case "description":
		t.Description, err = p.label()
	case "createdAt":
		t.CreatedAt, err = p.label()
	case "schemaVersion":
		err = p.schemaVersion()
	case "workflow":
		p.raw.hasFlow = true
		err = p.object(p.workflow)
	default:
		p.skip()
	}
	return err
}

// schemaVersion rejects what is certainly another format. A newer version is tried: the content counts.
func (p *parser) schemaVersion() error {
	start := p.at
	v, err := p.label()
	if err != nil {
		return err
	}
	if v != "" && v != "1" && !strings.HasPrefix(v, "1.") {
		return p.failAt(start, "version %s of the format is not known; versions 1.0 to 1.5 are", shown(v))
	}
	p.raw.trace.SchemaVersion = v
	return nil
}

func (p *parser) workflow(name string) (err error) {
	switch name {
	case "specification":
		p.raw.hasSpec = true
		err = p.object(p.specification)
	case "execution":
		err = p.object(p.execution)
	case "tasks", "jobs":
		p.raw.flat, err = p.tasks(true)
	case "makespanInSeconds", "makespan":
		p.raw.trace.MakespanSeconds, err = p.number()
	case "executedAt":
		p.raw.trace.ExecutedAt, err = p.label()
	default:
		p.skip()
	}
	return err
}

func (p *parser) specification(name string) (err error) {
	switch name {
	case "tasks":
		p.raw.spec, err = p.tasks(false)
	case "files":
		err = p.list(func(int) error {
			f, err := p.sizedFile()
			p.raw.trace.Files = append(p.raw.trace.Files, f)
			return err
		})
	default:
		p.skip()
	}
	return err
}

func (p *parser) execution(name string) (err error) {
	switch name {
	case "makespanInSeconds":
		p.raw.trace.MakespanSeconds, err = p.number()
	case "executedAt":
		p.raw.trace.ExecutedAt, err = p.label()
	case "tasks":
		err = p.list(func(int) error { return p.time() })
	case "machines":
		err = p.list(func(int) error { return p.machine() })
	default:
		p.skip()
	}
	return err
}

// machine accepts nonsense, since nobody needs it.
func (p *parser) machine() error {
	if p.kind() != "an object" {
		p.skip()
		return nil
	}
	var m Machine
	err := p.object(func(name string) (err error) {
		switch {
		case name == "nodeName" && p.kind() == "a string":
			m.Name = p.text()
		case name == "system" && p.kind() == "a string":
			m.System = p.text()
		case name == "architecture" && p.kind() == "a string":
			m.Architecture = p.text()
		case name == "memoryInBytes" && p.kind() == "a number":
			m.MemoryBytes, err = p.bytes()
		case name == "cpu" && p.kind() == "an object":
			err = p.object(func(name string) (err error) {
				switch {
				case name == "vendor" && p.kind() == "a string":
					m.CPU = p.text()
				case name == "coreCount" && p.kind() == "a number":
					var n int64
					n, err = p.bytes()
					m.Cores = int(n)
				default:
					p.skip()
				}
				return err
			})
		default:
			p.skip()
		}
		return err
	})
	if err == nil && m.Name != "" {
		p.raw.trace.Machines = append(p.raw.trace.Machines, m)
	}
	return err
}

func (p *parser) machineNames() ([]string, error) {
	if p.kind() != "a list" {
		p.skip()
		return nil, nil
	}
	var list []string
	err := p.list(func(int) error {
		if p.kind() != "a string" {
			p.skip()
			return nil
		}
		name := p.text()
		if known, ok := p.known[name]; ok {
			name = known
		} else if len(p.known) < knownMax {
			p.known[name] = name
		}
		list = append(list, name)
		return nil
	})
	return list, err
}

const knownMax = 10_000

// If flat, tasks contain run times and files.
func (p *parser) tasks(flat bool) ([]rawTask, error) {
	p.raw.hasTasks = true
	var tasks []rawTask
	err := p.list(func(int) error {
		if len(tasks) == p.lim.Tasks {
			return p.fail("there are more than %d tasks; take a smaller trace or raise the limit", p.lim.Tasks)
		}
		t := rawTask{at: p.at}
		if err := p.object(func(name string) error { return p.task(&t, name, flat) }); err != nil {
			return err
		}
		if err := p.identify(&t); err != nil {
			return err
		}
		tasks = append(tasks, t)
		return nil
	})
	return tasks, err
}

// identify copies a task's only id or name to the other.
func (p *parser) identify(t *rawTask) error {
	t.task.ID = cmp.Or(t.task.ID, t.task.Name)
	t.task.Name = cmp.Or(t.task.Name, t.task.ID)
	if t.task.ID == "" {
		return p.failAt(t.at, "this task has no id; give it one that no other task has")
	}
	return nil
}

func (p *parser) task(t *rawTask, name string, flat bool) (err error) {
	switch {
	case name == "id":
		t.task.ID, err = p.string()
	case name == "name":
		t.task.Name, err = p.string()
	case name == "parents":
		t.parents, err = p.references()
	case name == "children":
		t.children, err = p.references()
	case name == "inputFiles":
		t.task.Inputs, err = p.strings()
	case name == "outputFiles":
		t.task.Outputs, err = p.strings()
	case name == "runtimeInSeconds" || name == "runtime" && flat:
		t.timed = true
		t.task.RuntimeSeconds, err = p.runtime()
	case name == "files" && flat:
		err = p.list(func(int) error { return p.taskFile(t) })
	default:
		p.skip()
	}
	return err
}

func (p *parser) references() ([]reference, error) {
	var refs []reference
	err := p.list(func(int) error {
		if p.raw.edges++; p.raw.edges > p.lim.Edges {
			return p.fail("there are more than %d parents and children; take a smaller trace or raise the limit", p.lim.Edges)
		}
		at := p.at
		s, err := p.string()
		if err == nil {
			refs = append(refs, reference{text: s, at: at})
		}
		return err
	})
	return refs, err
}

func (p *parser) strings() ([]string, error) {
	var list []string
	err := p.list(func(int) error {
		s, err := p.string()
		list = append(list, s)
		return err
	})
	return list, err
}

func (p *parser) runtime() (float64, error) {
	start := p.at
	seconds, err := p.number()
	if err != nil {
		return 0, err
	}
	if msg := secondsProblem("run time", seconds); msg != "" {
		return 0, p.failAt(start, "%s", msg)
	}
	return seconds, nil
}

func (p *parser) time() error {
	start := p.at
	var t rawTime
	err := p.object(func(name string) (err error) {
		switch name {
		case "id":
			t.id.at = p.at
			t.id.text, err = p.string()
		case "runtimeInSeconds", "runtime":
			t.timed = true
			t.seconds, err = p.runtime()
		case "executedAt":
			if p.kind() == "a string" {
				t.executedAt = p.text()
			} else {
				p.skip()
			}
		case "machines":
			t.machines, err = p.machineNames()
		default:
			p.skip()
		}
		return err
	})
	if err != nil {
		return err
	}
	if t.id.text == "" {
		return p.failAt(start, "this run of a task has no id; give it the id of a task of the specification")
	}
	p.raw.times = append(p.raw.times, t)
	return nil
}

func (p *parser) sizedFile() (f File, err error) {
	start := p.at
	err = p.object(func(name string) (err error) {
		switch name {
		case "id":
			f.ID, err = p.string()
		case "sizeInBytes":
			f.SizeBytes, err = p.bytes()
		default:
			p.skip()
		}
		return err
	})
	if err == nil && f.ID == "" {
		err = p.failAt(start, "this file has no id; give it one")
	}
	return f, err
}

// taskFile reads a file in the older layout: within each task that uses it.
func (p *parser) taskFile(t *rawTask) error {
	var f File
	var link string
	start := p.at
	err := p.object(func(name string) (err error) {
		switch name {
		case "name", "id":
			f.ID, err = p.string()
		case "link":
			link, err = p.label()
		case "sizeInBytes", "size":
			f.SizeBytes, err = p.bytes()
		default:
			p.skip()
		}
		return err
	})
	if err != nil {
		return err
	}
	switch {
	case f.ID == "":
		return p.failAt(start, "this file has no name; give it one")
	case link == "output":
		t.task.Outputs = append(t.task.Outputs, f.ID)
	default:
		t.task.Inputs = append(t.task.Inputs, f.ID)
	}
	p.raw.flatFiles = append(p.raw.flatFiles, f)
	return nil
}

// bytes takes an invalid size as unknown: sizes do not affect a run.
func (p *parser) bytes() (int64, error) {
	f, err := p.number()
	if err != nil || f < 0 || f > 1<<60 {
		return 0, err
	}
	return int64(f), nil
}

func (p *parser) isTrace() error {
	missing := func(what string) error {
		return &Error{File: p.file, Msg: "not WfFormat: " + what}
	}
	switch {
	case !p.raw.hasFlow:
		return missing("there is no workflow; a trace has workflow.specification.tasks")
	case !p.raw.hasTasks && p.raw.hasSpec:
		return missing("workflow.specification has no tasks")
	case !p.raw.hasTasks:
		return missing("workflow has neither a specification (version 1.5) nor tasks (before)")
	case len(p.raw.spec)+len(p.raw.flat) == 0:
		return missing("the list of tasks is empty; a trace has at least one task")
	}
	p.raw.trace.Name = cmp.Or(p.raw.trace.Name, nameOf(p.file))
	return nil
}

func nameOf(file string) string {
	base := filepath.Base(file)
	if name := strings.TrimSuffix(base, filepath.Ext(base)); strings.Trim(name, "./") != "" {
		return name
	}
	return "trace"
}
