package scenarios

import (
	"sync"
	"time"

	"pulley/engine/expr"
	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/internal/yamlfile"
	"pulley/scenarios/arrivals"
	"pulley/scenarios/behaviour"
	"pulley/scenarios/dist"
	"pulley/scenarios/template"
	"pulley/scenarios/wfformat"
)

// spec is a scenario's file, read.
type spec struct {
	files   *files
	file    string // its name among the files
	program string // what it was made of, by OfProgram; empty: of a scenario's file
	name    string
	pos     ir.Pos // of the file's beginning

	about      string
	body       body
	parameters []parameter
	draws      []draw
	sizes      sizes
	variants   int
	input      []field // of main, in order
	inputPos   ir.Pos
	inputNames []yamlfile.Field // also of those whose values are wrong
	given      bool             // input is
	actions    []behaviour.Description
	actionsAt  map[string]ir.Pos
	expect     expectation
	unchecked  Unchecked

	arrivals  string
	arriving  arrivals.Arrivals
	run       RunDefaults
	objective []Objective
	pressure  Pressure
}

// parameter is a name that expressions may read, and that a command may set.
type parameter struct {
	name  string
	value expr.Value
}

// draw is a name that expressions may read, with a number that is drawn for each variant.
type draw struct {
	name string
	law  *dist.Law
}

// field is a name of main's input.
type field struct {
	name  string
	pos   ir.Pos
	value *template.Template
}

// sizes are those that a scenario comes in.
type sizes struct {
	means       string
	list        []int // ascending
	least, most int
	pos         ir.Pos
	fixed       bool // there is one size, and nothing reads it
}

// expectation is what a scenario's file says of the end of an instance.
type expectation struct {
	result  *template.Template // nil: it says nothing
	nodes   *template.Template
	failure *failure
}

// failure is the failure that is expected. What is empty may be anything.
type failure struct {
	pos                  ir.Pos
	typ, message, action string
}

// RunDefaults are how a scenario wants to be measured, where a command's flags say nothing else. What is zero is not said.
type RunDefaults struct {
	WarmUp     time.Duration // not counted at the beginning
	WarmUpAuto bool          // as long as it takes
	Measure    time.Duration
	Drain      time.Duration // the longest wait for what is open at the end
	InFlight   []int         // instances at once; of several, one run each
	Workers    int           // actions at once, of one engine
	Engines    int
}

// body is what an instance of a scenario runs.
type body interface {
	// flow makes the workflow of a size.
	flow(b *building) (flow, error)
	// position is where the file says what runs.
	position() ir.Pos
}

// programBody is a program in a file of its own.
type programBody struct {
	pos  ir.Pos
	file string // as it is to be opened here
	text []byte
}

// generateBody is a generator with its parameters.
type generateBody struct {
	pos     ir.Pos
	shape   string
	seed    *template.Template // nil: the one of the run
	numbers map[string]*template.Template
	bounds  map[string][2]int
	laws    map[string]*dist.Law
	shares  map[string]float64
	names   map[string]string
}

// traceBody is a recorded trace, or one that is generated.
type traceBody struct {
	pos   ir.Pos
	trace *wfformat.Trace // nil: it is generated
	shape wfformat.Shape
	tasks *template.Template
	seed  *template.Template
	scale *float64 // nil: that of the run
	kept  keptGraph
}

// keptGraph is the graph of a trace that was read, of the options with which it was made last: making it takes long.
type keptGraph struct {
	mu    sync.Mutex
	opts  wfformat.GraphOptions
	graph *graph.Graph
}

// of gives the graph of a trace.
func (k *keptGraph) of(t *wfformat.Trace, opts wfformat.GraphOptions) (*graph.Graph, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.graph == nil || k.opts != opts {
		g, err := t.Graph(opts)
		if err != nil {
			return nil, err
		}
		k.opts, k.graph = opts, g
	}
	return k.graph, nil
}

// mixBody is scenarios that take turns.
type mixBody struct {
	pos   ir.Pos
	parts []part
}

// part is one of them.
type part struct {
	pos      ir.Pos
	scenario Scenario
	size     *template.Template // nil: the smallest default one
	weight   int
	set      map[string]expr.Value
}

func (p *programBody) position() ir.Pos  { return p.pos }
func (p *generateBody) position() ir.Pos { return p.pos }
func (p *traceBody) position() ir.Pos    { return p.pos }
func (p *mixBody) position() ir.Pos      { return p.pos }
