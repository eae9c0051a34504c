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

type spec struct {
	files   *files
	file    string
	program string // its origin, by OfProgram; empty: a scenario's file
	name    string
	pos     ir.Pos

	about      string
	body       body
	parameters []parameter
	draws      []draw
	sizes      sizes
	variants   int
	input      []field // main's, in order
	inputPos   ir.Pos
	inputNames []yamlfile.Field // including those with wrong values
	given      bool             // the key input exists
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

// Expressions can read a parameter; a command can set it.
type parameter struct {
	name  string
	value expr.Value
}

// draw is a name for expressions, drawn for each variant.
type draw struct {
	name string
	law  *dist.Law
}

type field struct {
	name  string
	pos   ir.Pos
	value *template.Template
}

type sizes struct {
	means       string
	list        []int // ascending
	least, most int
	pos         ir.Pos
	fixed       bool // there is one size, and nothing reads it
}

type expectation struct {
	result  *template.Template // nil: none
	nodes   *template.Template
	failure *failure
}

// Empty fields match anything.
type failure struct {
	pos                  ir.Pos
	typ, message, action string
}

// RunDefaults are the scenario's measurement settings, which a command's flags override. Zero is unset.
type RunDefaults struct {
	WarmUp     time.Duration
	WarmUpAuto bool // as long as needed
	Measure    time.Duration
	Drain      time.Duration // longest, for open instances at the end
	InFlight   []int         // at once; one run each
	Workers    int           // per engine
	Engines    int
}

type body interface {
	flow(b *building) (flow, error)
	position() ir.Pos
}

type programBody struct {
	pos  ir.Pos
	file string // path to open
	text []byte
}

type generateBody struct {
	pos     ir.Pos
	shape   string
	seed    *template.Template // nil: the run's
	numbers map[string]*template.Template
	bounds  map[string][2]int
	laws    map[string]*dist.Law
	shares  map[string]float64
	names   map[string]string
}

type traceBody struct {
	pos   ir.Pos
	trace *wfformat.Trace // nil: generated
	shape wfformat.Shape
	tasks *template.Template
	seed  *template.Template
	scale *float64
	kept  keptGraph
}

// keptGraph caches the graph of a read trace for the latest options, since making it is slow.
type keptGraph struct {
	mu    sync.Mutex
	opts  wfformat.GraphOptions
	graph *graph.Graph
}

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

type mixBody struct {
	pos   ir.Pos
	parts []part
}

type part struct {
	pos      ir.Pos
	scenario Scenario
	size     *template.Template // nil: the smallest default
	weight   int
	set      map[string]expr.Value
}

func (p *programBody) position() ir.Pos  { return p.pos }
func (p *generateBody) position() ir.Pos { return p.pos }
func (p *traceBody) position() ir.Pos    { return p.pos }
func (p *mixBody) position() ir.Pos      { return p.pos }
