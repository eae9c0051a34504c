package gate_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pulley/bench/gate"
	"pulley/internal/depth"
	"pulley/reports/record"
)

const machine = "a machine"

func timed(row, figure string, values ...float64) gate.Series {
	return gate.Series{Key: gate.Key{Row: row, Figure: figure}, Unit: gate.UnitSeconds, Machine: machine, Values: values}
}

func count(row, figure string, values ...float64) gate.Series {
	return gate.Series{Key: gate.Key{Row: row, Figure: figure}, Kind: gate.Counted, Machine: machine, Values: values}
}

func side(series ...gate.Series) gate.Side { return gate.Side{Name: "side", Series: series} }

func on(machine string, s gate.Series) gate.Series {
	s.Machine = machine
	return s
}

func around(v float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v * (1 + 0.01*math.Sin(float64(3*i)+v))
	}
	return out
}

func judge(t *testing.T, a, b gate.Side, o gate.Options) *gate.Report {
	t.Helper()
	r, err := gate.Judge(a, b, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestOutcomes(t *testing.T) {
	steady := timed("r", "time", around(1, 8)...)
	for name, c := range map[string]struct {
		a, b gate.Side
		o    gate.Options
		want gate.Outcome
		says string
	}{
		"the same":                       {side(steady), side(timed("r", "time", around(1.001, 8)...)), gate.Options{}, gate.Passed, "No regression"},
		"a tenth slower":                 {side(steady), side(timed("r", "time", around(1.1, 8)...)), gate.Options{}, gate.Regression, "r: time"},
		"a tenth slower, in pairs":       {side(steady), side(timed("r", "time", around(1.1, 8)...)), gate.Options{Paired: true}, gate.Regression, "r: time"},
		"a tenth slower, which may be":   {side(steady), side(timed("r", "time", around(1.1, 8)...)), gate.Options{Margin: 0.15}, gate.Passed, "15 %"},
		"a tenth faster":                 {side(steady), side(timed("r", "time", around(0.9, 8)...)), gate.Options{}, gate.Passed, "No regression"},
		"two runs":                       {side(timed("r", "time", 1, 1.01)), side(timed("r", "time", 2, 2.02)), gate.Options{}, gate.Inconclusive, "make 4 of each"},
		"no row in common":               {side(steady), side(timed("s", "time", around(1, 8)...)), gate.Options{}, gate.Inconclusive, "no row in common"},
		"nothing at all":                 {side(), side(), gate.Options{}, gate.Inconclusive, "no row in common"},
		"other machine":                  {side(steady), side(on("b", steady)), gate.Options{}, gate.Inconclusive, "other machine"},
		"machine not known":              {side(on("", steady)), side(on("", steady)), gate.Options{}, gate.Inconclusive, "not known"},
		"one more row read":              {side(count("r", "rows", 2, 2, 2)), side(count("r", "rows", 3, 3, 3)), gate.Options{}, gate.Regression, "from 2 to 3"},
		"one more row, other machine":    {side(count("r", "rows", 2, 2, 2)), side(on("b", count("r", "rows", 3, 3, 3))), gate.Options{}, gate.Regression, "from 2 to 3"},
		"a thousandth of a row more":     {side(count("r", "rows", 2, 2, 2)), side(count("r", "rows", 2.002, 2.002, 2.002)), gate.Options{}, gate.Regression, "2.002"},
		"a row, where there was none":    {side(count("r", "rows", 0, 0, 0)), side(count("r", "rows", 1, 1, 1)), gate.Options{}, gate.Regression, "from 0 to 1"},
		"one row less":                   {side(count("r", "rows", 2, 2, 2)), side(count("r", "rows", 1, 1, 1)), gate.Options{}, gate.Passed, "No regression"},
		"a single count is no evidence":  {side(count("r", "rows", 2)), side(count("r", "rows", 3)), gate.Options{}, gate.Inconclusive, "cannot show"},
		"counts alike on other machine":  {side(steady, count("r", "rows", 2, 2, 2)), side(on("b", steady), on("b", count("r", "rows", 2, 2, 2))), gate.Options{}, gate.Passed, "1 figure of 1 row"},
		"an invalid run":                 {side(steady), gate.Side{Name: "new", Series: []gate.Series{steady}, Invalid: []string{"wrong result"}}, gate.Options{}, gate.Inconclusive, "wrong result"},
		"a regression and invalid runs":  {side(count("r", "rows", 2, 2)), gate.Side{Series: []gate.Series{count("r", "rows", 3, 3)}, Invalid: []string{"wrong"}}, gate.Options{}, gate.Regression, "from 2 to 3"},
		"far too noisy":                  {side(timed("r", "time", 1, 2, 3, 1, 2, 3)), side(timed("r", "time", 2, 1, 3, 3, 1, 2)), gate.Options{}, gate.Inconclusive, "do not exclude"},
		"noisy time, steady CPU":         {side(timed("r", "time", 1, 2, 3, 1, 2, 3), timed("r", "CPU", around(1, 6)...)), side(timed("r", "time", 2, 1, 3, 3, 1, 2), timed("r", "CPU", around(1.002, 6)...)), gate.Options{}, gate.Passed, "r: time alone does not exclude"},
		"steady count, noisy time":       {side(timed("r", "time", 1, 2, 3, 1, 2, 3), count("r", "rows", 2, 2)), side(timed("r", "time", 2, 1, 3, 3, 1, 2), count("r", "rows", 2, 2)), gate.Options{}, gate.Inconclusive, "do not exclude"},
		"steady tail, noisy time":        {side(timed("r", "time", 1, 2, 3, 1, 2, 3), tail(timed("r", "p99", around(1, 6)...))), side(timed("r", "time", 2, 1, 3, 3, 1, 2), tail(timed("r", "p99", around(1.002, 6)...))), gate.Options{}, gate.Inconclusive, "do not exclude"},
		"an invalid half of every pair":  {side(timed("r", "time", math.NaN(), math.NaN())), side(timed("r", "time", 1, 1)), gate.Options{Paired: true}, gate.Inconclusive, "no valid run"},
		"rare pair that does not count":  {side(timed("r", "time", append([]float64{math.NaN()}, around(1, 9)...)...)), side(timed("r", "time", append([]float64{9}, around(1, 9)...)...)), gate.Options{Paired: true}, gate.Passed, "No regression"},
		"throughput that falls by a 10%": {side(more(steady)), side(more(timed("r", "time", around(0.9, 8)...))), gate.Options{}, gate.Regression, "r: time"},
		"throughput that rises":          {side(more(steady)), side(more(timed("r", "time", around(1.5, 8)...))), gate.Options{}, gate.Passed, "No regression"},
		"allocations within the margin":  {side(lenient(count("r", "allocs", 1000, 1000))), side(lenient(count("r", "allocs", 1001, 1001))), gate.Options{}, gate.Passed, "No regression"},
		"allocations beyond it":          {side(lenient(count("r", "allocs", 10, 10))), side(lenient(count("r", "allocs", 11, 11))), gate.Options{}, gate.Regression, "from 10 to 11"},
	} {
		t.Run(name, func(t *testing.T) {
			r := judge(t, c.a, c.b, c.o)
			if r.Outcome != c.want || !strings.Contains(r.Sentence+strings.Join(r.Notes, "")+strings.Join(r.Doubts, ""), c.says) {
				t.Errorf("%s: %s %q %q, want %s with %q", r.Outcome, r.Sentence, r.Doubts, r.Notes, c.want, c.says)
			}
			if _, err := json.Marshal(r); err != nil {
				t.Error(err)
			}
			var text bytes.Buffer
			if err := r.WriteText(&text); err != nil || !strings.HasPrefix(text.String(), r.Sentence) {
				t.Errorf("%v: %s", err, text.String())
			}
		})
	}
}

func more(s gate.Series) gate.Series { s.MoreIsBetter = true; return s }

func tail(s gate.Series) gate.Series { s.Tail = true; return s }

func lenient(s gate.Series) gate.Series { s.Lenient = true; return s }

func TestExitCodes(t *testing.T) {
	for o, want := range map[gate.Outcome]int{gate.Passed: 0, gate.Regression: 1, gate.Inconclusive: 3} {
		if o.ExitCode() != want {
			t.Errorf("%s: %d, want %d", o, o.ExitCode(), want)
		}
	}
}

func TestOneSidedRowsAreReported(t *testing.T) {
	steady := timed("r", "time", around(1, 8)...)
	r := judge(t, side(steady, timed("gone", "time", 1), count("r", "rows", 1, 1)), side(steady, timed("new", "time", 1)), gate.Options{})
	if strings.Join(r.OnlyBaseline, "|") != "gone|r: rows" || strings.Join(r.OnlyCandidate, "|") != "new" || r.Outcome != gate.Passed {
		t.Errorf("%s: only %q, only %q", r.Outcome, r.OnlyBaseline, r.OnlyCandidate)
	}
}

func TestJitteringCountsOnOtherMachines(t *testing.T) {
	jitter := func(m string, kind gate.Kind, v float64) gate.Side {
		s := count("r", "rows", around(v, 8)...)
		s.Machine, s.Kind, s.Jitters = m, kind, true
		return side(s)
	}
	for _, c := range []struct {
		kind     gate.Kind
		machine  string
		ratio    float64
		want     gate.Outcome
		compared bool
	}{
		{gate.Counted, machine, 1.15, gate.Regression, true},
		{gate.Counted, "b", 1.15, gate.Passed, true},
		{gate.Counted, "b", 1.5, gate.Regression, true},
		{gate.Batched, machine, 1.15, gate.Regression, true},
		{gate.Batched, "b", 2, gate.Inconclusive, false},
	} {
		r := judge(t, jitter(machine, c.kind, 2), jitter(c.machine, c.kind, 2*c.ratio), gate.Options{})
		if r.Outcome != c.want || (r.Lines[0].NotCompared == "") != c.compared {
			t.Errorf("kind %d on %s, %v times: %s, %q", c.kind, c.machine, c.ratio, r.Outcome, r.Lines[0].NotCompared)
		}
	}
}

func TestRefusals(t *testing.T) {
	steady := timed("r", "time", around(1, 8)...)
	for name, c := range map[string]struct {
		a, b gate.Side
		o    gate.Options
	}{
		"twice":            {side(steady, steady), side(steady), gate.Options{}},
		"negative":         {side(timed("r", "time", -1)), side(steady), gate.Options{}},
		"infinite":         {side(steady), side(timed("r", "time", math.Inf(1))), gate.Options{}},
		"unequal pairs":    {side(steady), side(timed("r", "time", 1)), gate.Options{Paired: true}},
		"alpha":            {side(steady), side(steady), gate.Options{Alpha: 0.7}},
		"margin":           {side(steady), side(steady), gate.Options{Margin: math.NaN()}},
		"small resolution": {side(steady), side(steady), gate.Options{Margin: 0.3, Resolution: 0.2}},
	} {
		if r, err := gate.Judge(c.a, c.b, c.o); err == nil {
			t.Errorf("%s: %v, want an error", name, r.Outcome)
		}
	}
}

// disturbed makes pairs of runs on a machine whose other load varies: four rows with one figure each. The candidate's take
// factor times as long.
func disturbed(r *rand.Rand, n int, factor float64) (a, b gate.Side) {
	for _, row := range []string{"one", "two", "three", "four"} {
		busy := 0.0
		before, after := timed(row, "CPU"), timed(row, "CPU")
		for range n {
			run := func() float64 {
				if r.IntN(4) == 0 {
					busy = 0.08 * r.Float64()
				}
				return math.Exp(busy + 0.02*r.NormFloat64())
			}
			x, y := run(), run()
			if r.IntN(2) == 0 {
				x, y = y, x
			}
			before.Values, after.Values = append(before.Values, x), append(after.Values, factor*y)
		}
		a.Series, b.Series = append(a.Series, before), append(b.Series, after)
	}
	return a, b
}

// Slowdowns in simulated runs on a disturbed machine are counted as detections and false alarms.
func TestPower(t *testing.T) {
	tries := depth.Of(200, 4000)
	const pairs = 12
	count := func(factor float64) (alarms int) {
		r := rand.New(rand.NewPCG(5, uint64(1000*factor)))
		for range tries {
			a, b := disturbed(r, pairs, factor)
			if judge(t, a, b, gate.Options{Paired: true}).Outcome == gate.Regression {
				alarms++
			}
		}
		return alarms
	}
	if n := count(1); n > tries/20 {
		t.Errorf("%d false alarms in %d tries, want at most 5 %%", n, tries)
	}
	if n := count(1.1); n < tries*19/20 {
		t.Errorf("10 %% found %d times of %d, want 95 %%", n, tries)
	}
}

func TestDecisionsAreWritten(t *testing.T) {
	r := judge(t, side(timed("a row", "time", around(0.001, 8)...)), side(timed("a row", "time", around(0.002, 8)...)), gate.Options{})
	var b bytes.Buffer
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a row\n", "1.0", "2.0", " ms", "worse", "8+8"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
	if r.Lines[0].Decision != record.Worse {
		t.Errorf("%v", r.Lines[0].Decision)
	}
}
