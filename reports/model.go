package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"pulley/reports/record"
	"pulley/reports/units"
)

// view is the records in display order.
type view struct {
	summary  *record.Summary
	manifest *record.Manifest // never nil; empty if there was none
	// in the order of the manifest, then of their first row
	backends []string
	// the others are compared with it; empty without rows
	baseline string
	families []family
	// valid runs of each row
	samples map[record.Key][]*record.Sample
	spreads map[record.Key]map[string]spread
	logs    latencyLogs
}

// family is all rows of one scenario in one mode, by size and then by backend.
type family struct {
	scenario string
	mode     string // empty if unknown
	rows     []*record.Row
}

func (f *family) name() string {
	if f.mode == "" {
		return f.scenario
	}
	return f.scenario + ", " + f.mode
}

// spread is over a row's runs.
type spread struct{ lo, hi float64 }

func newView(s *record.Summary, m *record.Manifest) *view {
	v := &view{summary: s, manifest: m}
	if s == nil {
		v.summary = &record.Summary{}
	}
	if m == nil {
		v.manifest = &record.Manifest{}
	}
	v.orderBackends()
	v.orderFamilies()
	v.samples = make(map[record.Key][]*record.Sample)
	for i := range v.manifest.Samples {
		if s := &v.manifest.Samples[i]; s.Valid {
			v.samples[s.Key()] = append(v.samples[s.Key()], s)
		}
	}
	v.spreads = sampleSpreads(v.samples)
	return v
}

func (v *view) orderBackends() {
	present := make(map[string]bool)
	for _, r := range v.summary.Rows {
		present[r.Backend] = true
	}
	add := func(name string) {
		if present[name] && !slices.Contains(v.backends, name) {
			v.backends = append(v.backends, name)
		}
	}
	for _, name := range v.manifest.Backends {
		add(name)
	}
	for _, r := range v.summary.Rows {
		add(r.Backend)
	}
	i := slices.IndexFunc(v.backends, func(name string) bool { return kind(name) == "push" })
	if len(v.backends) > 0 {
		v.baseline = v.backends[max(i, 0)]
	}
}

func (v *view) orderFamilies() {
	for i := range v.summary.Rows {
		r := &v.summary.Rows[i]
		at := slices.IndexFunc(v.families, func(f family) bool { return f.scenario == r.Scenario && f.mode == r.Mode })
		if at < 0 {
			at = len(v.families)
			v.families = append(v.families, family{scenario: r.Scenario, mode: r.Mode})
		}
		v.families[at].rows = append(v.families[at].rows, r)
	}
	place := func(f family) int {
		if i := slices.Index(v.manifest.Scenarios, f.scenario); i >= 0 {
			return i
		}
		return len(v.manifest.Scenarios)
	}
	slices.SortStableFunc(v.families, func(a, b family) int { return cmp.Compare(place(a), place(b)) })
	for _, f := range v.families {
		slices.SortStableFunc(f.rows, func(a, b *record.Row) int {
			return cmp.Or(cmp.Compare(a.Size, b.Size),
				cmp.Compare(slices.Index(v.backends, a.Backend), slices.Index(v.backends, b.Backend)))
		})
	}
}

func (f *family) largest() (size int, ok bool) {
	for _, r := range f.rows {
		if r.Valid && (!ok || r.Size > size) {
			size, ok = r.Size, true
		}
	}
	return size, ok
}

func (f *family) find(backend string, size int) *record.Row {
	for _, r := range f.rows {
		if r.Backend == backend && r.Size == size && r.Valid {
			return r
		}
	}
	return nil
}

func (f *family) sizes() int {
	seen := make(map[int]bool)
	for _, r := range f.rows {
		if r.Valid {
			seen[r.Size] = true
		}
	}
	return len(seen)
}

// cost is a figure comparable between backends; less is better.
type cost struct {
	// its name among the record's differences
	difference string
	// figure is the name in the records, short and long the names for people; short implies per node.
	figure, short, long string
	// the figure in a row, and in a run
	row    func(*record.Row) *float64
	sample func(*record.Sample) *float64
	unit   units.Unit
}

var (
	rowsRead = cost{
		difference: record.FigureRowsRead, figure: "rows_read_per_node", short: "rows read", long: "rows read per node",
		row:    func(r *record.Row) *float64 { return r.RowsReadPerNode },
		sample: perNode(func(c *record.Counters) *int64 { return c.RowsRead }), unit: units.None,
	}
	timeCost = cost{
		difference: record.FigureTime, figure: "nodes_per_s", short: "time", long: "time per node",
		row: func(r *record.Row) *float64 {
			if r.NodesPerS == nil {
				return nil
			}
			return inverse(r.NodesPerS.Median)
		},
		sample: func(s *record.Sample) *float64 { return inverse(s.NodesPerS) }, unit: units.Nanoseconds,
	}
	walBytes = cost{
		difference: record.FigureWALBytes, figure: "wal_bytes_per_node", short: "WAL", long: "WAL per node",
		row:    func(r *record.Row) *float64 { return r.WALBytesPerNode },
		sample: perNode(func(c *record.Counters) *int64 { return c.WALBytes }), unit: units.ByteCount,
	}
	statements = cost{
		difference: record.FigureStatements, figure: "statements_per_node", short: "statements", long: "statements per node",
		row:    func(r *record.Row) *float64 { return r.StatementsPerNode },
		sample: perNode(func(c *record.Counters) *int64 { return c.Statements }), unit: units.None,
	}
	commits = cost{
		difference: record.FigureCommits, figure: "commits_per_node", short: "commits", long: "commits per node",
		row:    func(r *record.Row) *float64 { return r.CommitsPerNode },
		sample: perNode(func(c *record.Counters) *int64 { return c.Commits }), unit: units.None,
	}
	costs = []cost{rowsRead, timeCost, walBytes, statements, commits}
)

func inverse(perS float64) *float64 {
	if perS <= 0 {
		return nil
	}
	ns := 1e9 / perS
	return &ns
}

func perNode(get func(*record.Counters) *int64) func(*record.Sample) *float64 {
	return func(s *record.Sample) *float64 {
		if s.Counters == nil || s.NodeRuns() == 0 || get(s.Counters) == nil {
			return nil
		}
		v := float64(*get(s.Counters)) / float64(s.NodeRuns())
		return &v
	}
}

func sampleSpreads(samples map[record.Key][]*record.Sample) map[record.Key]map[string]spread {
	out := make(map[record.Key]map[string]spread)
	for key, runs := range samples {
		out[key] = make(map[string]spread)
		for _, c := range costs {
			for _, s := range runs {
				v := c.sample(s)
				if v == nil {
					continue
				}
				old, ok := out[key][c.figure]
				if !ok {
					old = spread{*v, *v}
				}
				out[key][c.figure] = spread{min(old.lo, *v), max(old.hi, *v)}
			}
		}
	}
	return out
}

// around returns the row's interval if it has one, else the range of its samples, if any.
func (v *view) around(r *record.Row, c cost) (spread, bool) {
	if c.figure == timeCost.figure && r.NodesPerS != nil {
		lo, hi := inverse(r.NodesPerS.Hi), inverse(r.NodesPerS.Lo)
		if lo != nil && hi != nil {
			return spread{*lo, *hi}, true
		}
	}
	s, ok := v.spreads[r.Key()][c.figure]
	return s, ok
}

type ratio struct {
	value float64
	// the interval, if ok
	lo, hi float64
	ok     bool
	// the runs show no difference
	undecided bool
}

// unclear is benchstat's sign for no shown difference.
const unclear = "~"

func (r ratio) short() string {
	switch {
	case r.undecided && r.tooFew():
		return unclear + " " + units.Times(r.value)
	case r.undecided:
		return unclear
	}
	return units.Times(r.value)
}

// tooFew reports that the interval shows a difference, and that it is of too few runs to be called one.
func (r ratio) tooFew() bool { return r.ok && (r.lo > 1 || r.hi < 1) }

// ratio compares a row with the baseline's row of the same scenario, size and mode. It is nil if either is missing or invalid,
// if the row is the baseline's own, or if the baseline's figure is zero. The record decides whether there is a difference.
// Files before version 5 do not decide: then the ratio is that of the medians, with the range over neighbouring runs.
func (v *view) ratio(f *family, r *record.Row, c cost) *ratio {
	base := f.find(v.baseline, r.Size)
	if base == nil || base == r || !r.Valid {
		return nil
	}
	if len(v.summary.Differences) > 0 {
		return recorded(v.summary.Difference(r.Key(), c.difference))
	}
	return v.measured(r, base, c)
}

func recorded(d *record.Difference) *ratio {
	if d == nil || d.Ratio == nil {
		return nil
	}
	return &ratio{value: d.Ratio.Median, lo: d.Ratio.Lo, hi: d.Ratio.Hi, ok: true, undecided: d.Decision == record.Unclear}
}

func (v *view) measured(r, base *record.Row, c cost) *ratio {
	a, b := c.row(r), c.row(base)
	if a == nil || b == nil || *b == 0 {
		return nil
	}
	out := &ratio{value: *a / *b, lo: math.Inf(1), hi: math.Inf(-1)}
	for _, s := range v.samples[r.Key()] {
		for _, t := range v.samples[base.Key()] {
			x, y := c.sample(s), c.sample(t)
			if s.Run == t.Run && x != nil && y != nil && *y != 0 {
				out.lo, out.hi, out.ok = min(out.lo, *x / *y), max(out.hi, *x / *y), true
			}
		}
	}
	return out
}

func (v *view) invalid() int {
	n := 0
	for _, r := range v.summary.Rows {
		if !r.Valid {
			n++
		}
	}
	return n
}

const mentionMax = 60

func kind(backend string) string {
	name, _, _ := strings.Cut(backend, ":")
	return name
}

func (v *view) comparable(f *family) (size int, ok bool) {
	for _, r := range f.rows {
		if v.compares(f, r) && (!ok || r.Size > size) {
			size, ok = r.Size, true
		}
	}
	return size, ok
}

// compares reports that a row can be held against the baseline's.
func (v *view) compares(f *family, r *record.Row) bool {
	return v.ratio(f, r, rowsRead) != nil || v.ratio(f, r, timeCost) != nil
}

// state describes the run's credibility in one sentence; good: without reserve.
func (v *view) state() (text string, good bool) {
	rows, bad := len(v.summary.Rows), v.invalid()
	switch {
	case rows == 0:
		text = "There are no rows."
	case bad == 0:
		text, good = fmt.Sprintf("All %s are valid: every run gave the expected result.", units.Plural(rows, "row")), true
		if rows == 1 {
			text = "The one row is valid: every run gave the expected result."
		}
	default:
		text = fmt.Sprintf("%d of %s: invalid, and left out of charts and ratios.", bad, units.Plural(rows, "row"))
	}
	if v.manifest.Interrupted {
		return text + " The run was interrupted: this is what it had by then.", false
	}
	return text, good
}

type warning struct {
	Text string
	Rows []string
}

const maxNamedRows = 5

// Where names the warning's rows; empty for the run as a whole.
func (w warning) Where() string {
	if more := len(w.Rows) - maxNamedRows; more > 1 {
		return fmt.Sprintf("%s and %d more rows", strings.Join(w.Rows[:maxNamedRows], ", "), more)
	}
	return strings.Join(w.Rows, ", ")
}

func (v *view) warnings() []warning {
	var out []warning
	at := make(map[string]int)
	add := func(text, row string) {
		i, ok := at[text]
		if !ok {
			i = len(out)
			at[text] = i
			out = append(out, warning{Text: text})
		}
		if row != "" && !slices.Contains(out[i].Rows, row) {
			out[i].Rows = append(out[i].Rows, row)
		}
	}
	for _, text := range v.manifest.Warnings {
		add(text, "")
	}
	if c := v.summary.Ceilings; c != nil {
		for _, text := range c.Warnings {
			add("ceilings: "+text, "")
		}
	}
	for _, f := range v.families {
		for _, r := range f.rows {
			for _, text := range r.Warnings {
				add(text, r.Key().String())
			}
		}
	}
	return out
}
