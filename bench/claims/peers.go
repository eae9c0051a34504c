package claims

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pulley/bench"
	"pulley/bench/ceiling"
	"pulley/bench/claim"
	"pulley/bench/measure"
	"pulley/bench/stats"
	"pulley/bench/systems"
	"pulley/reports/record"
)

// peers measure in the shapes in which others published figures.
func peers() []experiment {
	return []experiment{
		{name: "point-writes", peer: true, about: "rows inserted one by one: 144,000/s on 96 cores (DBOS)", takes: effort{1.5, 6}, run: peerInserts},
		{name: "workflows", peer: true, about: "workflows of one step: 43,000/s on 96 cores (DBOS)", takes: effort{2, 4}, system: effort{3, 4}, search: effort{5, 10}, run: peerWorkflows},
		{name: "jobs", peer: true, about: "a backlog of jobs: 46,000/s (River), 183,895/s (Graphile Worker), 16,667/s (Oban)", takes: effort{2, 4}, system: effort{3, 4}, search: effort{5, 17}, run: peerJobs},
		{name: "runs", peer: true, about: "2,000 runs/s of 220 ms each on 8 cores (Hatchet)", takes: effort{6, 16}, system: effort{3, 9}, search: effort{5, 9}, run: peerRuns},
	}
}

const oneStep = "instances of one action that does nothing, each result checked"

func peerWorkflows(ctx context.Context, l *lab) ([]claim.Claim, error) {
	load := bench.SaturatedLoad()
	load.RunTime = time.Duration(l.pick(400, 2000)) * time.Millisecond
	found, err := l.sideBySide(ctx, load)
	if err != nil {
		return nil, err
	}
	method := oneStep + fmt.Sprintf(", %d in flight, another submitted when one ends, for about %v. ", load.InFlight, load.RunTime) + l.door()
	return found.claims(l, "workflows", method, "dbos-workflows", "dbos-queue"), nil
}

// peerJobs submits all at once. Other than in a burn-down, they are worked off from the first on.
func peerJobs(ctx context.Context, l *lab) ([]claim.Claim, error) {
	jobs := l.pick(1500, 20_000)
	load := bench.Load{Mode: record.ModeSaturated, InFlight: jobs, NodesInFlight: jobs, Workers: 2000, MinNodes: jobs}
	if !l.cfg.least { // a run's length needs runs that find it
		load.RunTime = time.Duration(l.pick(300, 1000)) * time.Millisecond
	}
	found, err := l.sideBySide(ctx, load)
	if err != nil {
		return nil, err
	}
	method := fmt.Sprintf("%s, submitted at once, as many as a system works off in about four seconds, but at most %s; from the first submission to the last end. ", oneStep, claim.Number(float64(jobs))) + l.door()
	return found.claims(l, "jobs", method, "river-jobs", "graphile-jobs", "graphile-unbatched", "oban-jobs"), nil
}

// door says how systems are measured.
func (l *lab) door() string {
	text := "Embedded: our schedulers in this process."
	if len(l.cfg.Systems) > 0 {
		text += " Through the adapter: processes of their own on a new database for each run, ours as well as others', in turn (ABBA)"
		if l.cfg.Tune {
			text += ", each with the slots and settings with which a search found it to be fastest"
		}
		text += "."
	}
	return text
}

// shape is what was measured in one shape.
type shape struct {
	unit     string
	embedded *bench.Comparison
	door     *bench.Comparison // through adapters; nil: no system was given, or refused says why there is none
	refused  error
}

const oneStepScenario, oneStepSize = "chain", 1

func (l *lab) sideBySide(ctx context.Context, load bench.Load) (*shape, error) {
	embedded, err := l.compare(ctx, oneStepScenario, []int{oneStepSize}, pushed(), bench.CompareConfig{Loads: []bench.Load{load}})
	if err != nil || len(l.cfg.Systems) == 0 {
		return &shape{embedded: embedded}, err
	}
	door, err := l.compare(ctx, oneStepScenario, []int{oneStepSize}, nil, bench.CompareConfig{Loads: []bench.Load{load}, Systems: l.cfg.Systems, Tune: l.cfg.Tune})
	if ctx.Err() != nil {
		return nil, err
	}
	return &shape{embedded: embedded, door: door, refused: err}, nil
}

// claims returns a claim for each published figure, and one for each given system without such a figure.
func (s *shape) claims(l *lab, experiment, method string, ids ...string) (out []claim.Claim) {
	published := map[string]bool{}
	for _, id := range ids {
		p := peerFigures[id]
		s.unit, published[p.System] = p.Unit, true
		c := peerClaim(id, method)
		c.Figures = s.ours(p)
		c = l.withPeer(c, func(of systems.System) []claim.Figure { return s.peer(p, of) })
		out = append(out, c)
	}
	for _, of := range l.cfg.Systems {
		if isOurs(of) || published[of.Hello.Name] {
			continue
		}
		out = append(out, unpublished(of, experiment, method, append(s.ours(claim.Published{}), s.peer(claim.Published{}, of)...)))
	}
	return out
}

// unpublished is of a system whose authors published nothing in a shape.
func unpublished(of systems.System, experiment, method string, figures []claim.Figure) claim.Claim {
	return claim.Claim{
		ID: experiment + "-" + of.Name, Text: fmt.Sprintf("No published figure of %s in this shape is known.", of.Name), Source: "–",
		Method: method, Figures: figures, Verdict: claim.Compared,
	}
}

func peerClaim(id, method string) claim.Claim {
	p := peerFigures[id]
	return claim.Claim{
		ID: id, Text: fmt.Sprintf("%s published %s %s.", p.By, claim.Number(p.Figure), p.Unit), Source: p.Address, Method: method, Published: &p,
		Why: p.Differs + " " + comparable(p),
	}
}

// comparable says what two machines have in common.
func comparable(p claim.Published) string {
	switch {
	case strings.HasPrefix(p.Unit, "ms") || p.Cores == 0:
		return "The published figure is another machine's; only what was measured here can be compared."
	}
	return fmt.Sprintf("The published figure is that of %d cores; only what was measured here can be compared. The ratios by core are for orientation, since hardly a system grows with its cores.", p.Cores)
}

// withPeer adds the figures of the system that published, if it can be measured here, and says else what is missing.
func (l *lab) withPeer(c claim.Claim, measure func(systems.System) []claim.Figure) claim.Claim {
	name := c.Published.System
	c.Verdict = claim.OursOnly
	for _, of := range l.cfg.Systems {
		if of.Hello.Name == name || of.Name == name {
			c.Figures = append(c.Figures, measure(of)...)
			c.Verdict = claim.Compared
		}
	}
	switch missing, asked := l.cfg.Missing[name]; {
	case c.Verdict == claim.Compared:
	case asked && slices.Contains(adapters, name):
		c.Why += " Not measured: " + missing + "."
	case slices.Contains(adapters, name):
		c.Why += fmt.Sprintf(" --systems %s measures it here as well.", name)
	default:
		c.Why += fmt.Sprintf(" No adapter for %s comes with pulley; with one, it is measured here as well (docs/adapter.md).", c.Published.By)
	}
	return c
}

// adapters that come with pulley, of systems with published figures.
var adapters = []string{"river", "dbos"}

func isOurs(of systems.System) bool { return slices.Contains(pushed(), of.Name) }

func rate(s *record.Sample) (float64, bool) { return s.NodesPerS, s.NodesPerS > 0 }

func (s *shape) figure(found *bench.Comparison, backend, how string) claim.Figure {
	f := claim.Figure{Name: backend + ", " + how, Unit: s.unit}.Measure(values(found, backend, oneStepSize, rate))
	if why := invalid(found); f.Median == nil && why != "" {
		f.Note += ": " + why
	}
	for _, of := range found.Manifest.Systems {
		if of.Name == backend && f.Median != nil {
			f.Note = ranWith(&of)
		}
	}
	return f
}

// ranWith says with what a system was measured: its version, and what differs from the adapter's defaults.
func ranWith(of *record.System) string {
	text := strings.TrimSpace(of.System + " " + of.Version)
	for _, choice := range of.Chosen {
		text += fmt.Sprintf(", %d slots", choice.Slots)
		for _, name := range slices.Sorted(maps.Keys(choice.Settings)) {
			text += fmt.Sprintf(", %s=%s", name, choice.Settings[name])
		}
	}
	return text
}

// ours returns the figures of our schedulers.
func (s *shape) ours(p claim.Published) (out []claim.Figure) {
	for _, backend := range pushed() {
		f := s.figure(s.embedded, backend, "embedded")
		out = append(out, f)
		out = append(out, byCore(f, p)...)
	}
	if s.door == nil {
		return out
	}
	for _, backend := range pushed() {
		if slices.Contains(s.door.Manifest.Backends, backend) {
			out = append(out, s.figure(s.door, backend, adapter))
		}
	}
	return out
}

const adapter = "through the adapter"

// peer returns the figures of a system, and its ratios to ours, which come through the same door.
func (s *shape) peer(p claim.Published, of systems.System) (out []claim.Figure) {
	if s.refused != nil {
		return []claim.Figure{claim.Figure{Name: of.Name + ", " + adapter, Unit: s.unit}.Missing(s.refused.Error())}
	}
	f := s.figure(s.door, of.Name, adapter)
	out = append(out, f)
	out = append(out, byCore(f, p)...)
	for _, backend := range pushed() {
		if slices.Contains(s.door.Manifest.Backends, backend) {
			above, below := paired(s.door, of.Name, backend)
			out = append(out, ratio(fmt.Sprintf("%s / %s, %s", of.Name, backend, adapter), above, below, claim.Alongside, 0))
		}
	}
	return out
}

// paired returns the rates of two by repetition, where both are valid.
func paired(found *bench.Comparison, one, other string) (a, b []float64) {
	byRun := func(backend string) map[int]float64 {
		rates := map[int]float64{}
		for i := range found.Manifest.Samples {
			if s := &found.Manifest.Samples[i]; s.Valid && s.Backend == backend && s.NodesPerS > 0 {
				rates[s.Run] = s.NodesPerS
			}
		}
		return rates
	}
	as, bs := byRun(one), byRun(other)
	for run := 1; run <= found.Manifest.Runs; run++ {
		if as[run] > 0 && bs[run] > 0 {
			a, b = append(a, as[run]), append(b, bs[run])
		}
	}
	return a, b
}

// byCore divides a measured rate and the published one by their machines' cores.
func byCore(f claim.Figure, p claim.Published) []claim.Figure {
	if p.Cores == 0 || f.Median == nil {
		return nil
	}
	scale := float64(p.Cores) / float64(measure.Host().Cores) / p.Figure
	name, _, _ := strings.Cut(f.Name, ",")
	out := claim.Figure{Name: fmt.Sprintf("%s by core here / published by core", name), Unit: "×", Note: "for orientation only"}
	return []claim.Figure{out.Interval(*f.Median*scale, *f.Lo*scale, *f.Hi*scale, f.Runs)}
}

// peerInserts needs no system besides the server.
func peerInserts(ctx context.Context, l *lab) ([]claim.Claim, error) {
	connections := []int{8, 32, 64}
	if l.cfg.least {
		connections = connections[:1]
	}
	rates := map[int][]float64{}
	for run := range l.runs {
		if run%2 == 1 {
			slices.Reverse(connections)
		}
		found, err := ceiling.MeasureInserts(ctx, ceiling.Config{
			DSN: l.cfg.DSN, Connections: connections, Duration: time.Duration(l.pick(200, 1500)) * time.Millisecond,
		})
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			rates[f.Connections] = append(rates[f.Connections], f.RowsPerS)
			l.printf("run %d of %d: %.0f rows/s on %d connections", run+1, l.runs, f.RowsPerS, f.Connections)
		}
	}
	best := connections[0]
	for n, list := range rates {
		if stats.Median(list) > stats.Median(rates[best]) {
			best = n
		}
	}
	c := peerClaim("dbos-point-writes", "raw SQL: rows inserted one by one, each in a transaction of its own, on 8, 32 and 64 connections; the fastest is shown.")
	f := claim.Figure{Name: fmt.Sprintf("Postgres, %d connections", best), Unit: c.Published.Unit}.Measure(rates[best])
	c.Figures, c.Verdict = append([]claim.Figure{f}, byCore(f, *c.Published)...), claim.Compared
	return []claim.Claim{c}, nil
}
