package gate

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"pulley/bench/stats"
	"pulley/reports/record"
)

// Kind is what a figure depends on.
type Kind int

const (
	// Timed figures depend on the machine.
	Timed Kind = iota
	// Counted figures hardly depend on the machine.
	Counted
	// Batched figures are counted ones that depend on how many completions share a commit, and so on the machine's speed.
	Batched
)

// Key names a series: a row, such as "fanout 100, push, alone", and one of its figures.
type Key struct {
	Row    string `json:"row"`
	Figure string `json:"figure"`
}

func (k Key) String() string { return k.Row + ": " + k.Figure }

// Series is one figure by run.
type Series struct {
	Key
	// how values are shown: a Unit constant, or any word, which follows the number
	Unit         string
	Kind         Kind
	MoreIsBetter bool
	// Tail marks a figure of few events, whose precision its row does not need.
	Tail bool
	// Jitters marks a counted figure that varies between runs by nature, so that equal values are chance.
	Jitters bool
	// Lenient lets a counted figure rise within the margin even if it is exact.
	Lenient bool
	// empty: unknown
	Machine string
	// Values are finite and at least 0, in run order. In a paired comparison, NaN is a run that does not count.
	Values []float64
}

// Side is the measurements of one of the two programs.
type Side struct {
	// shown: a directory, a file or a revision
	Name   string
	Series []Series
	// runs that do not count
	Invalid []string
	// figures that are not compared because their better direction is unknown
	Strange []string
}

// Options configure the decision. Zero values are defaults.
type Options struct {
	// Margin is the tolerated factor for the worse, less 1. Zero: DefaultMargin. Negative: none.
	Margin float64
	// Alpha bounds the probability of a false alarm. Zero: DefaultAlpha.
	Alpha float64
	// Resolution is the change for the worse that a row's runs must exclude to pass. Zero: DefaultResolution.
	Resolution float64
	// Paired means that value i of both sides were neighbours in time.
	Paired bool
}

// Defaults of Options, and the margin of counts between machines.
const (
	DefaultMargin     = 0.03
	DefaultAlpha      = 0.05
	DefaultResolution = 0.25
	JitterMargin      = 0.25
)

func (o Options) withDefaults() Options {
	switch {
	case o.Margin == 0:
		o.Margin = DefaultMargin
	case o.Margin < 0:
		o.Margin = 0
	}
	o.Alpha = cmp.Or(o.Alpha, DefaultAlpha)
	o.Resolution = cmp.Or(o.Resolution, max(DefaultResolution, 2*o.Margin))
	return o
}

// Validate rejects senseless options.
func (o Options) Validate() error {
	o = o.withDefaults()
	switch {
	case !(o.Alpha > 0 && o.Alpha <= 0.5):
		return fmt.Errorf("alpha %v: choose more than 0 and at most 0.5", o.Alpha)
	case !(o.Margin <= 10):
		return fmt.Errorf("margin %v: choose from 0 to 10, as in 0.03 for 3 %%", o.Margin)
	case !(o.Resolution >= o.Margin && o.Resolution <= 100):
		return fmt.Errorf("resolution %v: choose at least the margin, %v, and at most 100", o.Resolution, o.Margin)
	}
	return nil
}

// Outcome is a gate's decision.
type Outcome string

const (
	// Regression means that some figure is shown to be worse by more than the margin.
	Regression Outcome = "regression"
	// Passed means that none is, and the runs would have shown a change beyond the resolution.
	Passed Outcome = "passed"
	// Inconclusive means that none is, but the runs could not have shown one, or some were invalid, or nothing could be
	// compared.
	Inconclusive Outcome = "inconclusive"
)

// ExitCode is the exit status of a program that reports o.
func (o Outcome) ExitCode() int {
	switch o {
	case Regression:
		return 1
	case Passed:
		return 0
	}
	return 3
}

// Line is the comparison of one figure.
type Line struct {
	Key
	Unit         string `json:"unit"`
	MoreIsBetter bool   `json:"more_is_better"`
	// Baseline and Candidate are medians over BaselineRuns and CandidateRuns runs; nil if there is none.
	Baseline      *float64 `json:"baseline"`
	Candidate     *float64 `json:"candidate"`
	BaselineRuns  int      `json:"baseline_runs"`
	CandidateRuns int      `json:"candidate_runs"`
	// Ratio is candidate / baseline, with the decision's interval; nil if not compared or not finite.
	Ratio *record.Spread `json:"ratio"`
	// P is the probability of such a difference by chance, after Holm's correction; nil without a test.
	P *float64 `json:"p"`
	// Exact means that the figure was equal in all runs of each side, and was compared directly.
	Exact bool `json:"exact"`
	// Worst is the factor for the worse that is excluded with confidence 1 − alpha for this figure alone; nil if none is.
	Worst    *float64        `json:"worst"`
	Decision record.Decision `json:"decision"`
	// why the figure was not compared
	NotCompared string `json:"not_compared,omitempty"`
	// a limit of the decision
	Note string `json:"note,omitempty"`

	tail, timed bool
}

// Report is a gate's answer.
type Report struct {
	// Command repeats the decision; omitted where no command made it
	Command []string `json:"command,omitempty"`
	Outcome Outcome  `json:"outcome"`
	// the outcome and what decided it
	Sentence   string  `json:"sentence"`
	Baseline   string  `json:"baseline"`
	Candidate  string  `json:"candidate"`
	Alpha      float64 `json:"alpha"`
	Margin     float64 `json:"margin"`
	Resolution float64 `json:"resolution"`
	Paired     bool    `json:"paired"`
	Lines      []Line  `json:"lines"`
	// rows, or figures of common rows, that only one side has
	OnlyBaseline  []string `json:"only_baseline"`
	OnlyCandidate []string `json:"only_candidate"`
	// Doubts are the reasons why undetected regressions cannot be excluded. Without any, and without a regression, the gate
	// passes.
	Doubts []string `json:"doubts"`
	// on what was not compared, and on runs that did not count
	Notes []string `json:"notes"`
}

// Judge compares candidate with baseline. It fails if a side has a series twice or an invalid value, or if paired sides differ
// in length.
func Judge(baseline, candidate Side, o Options) (*Report, error) {
	o = o.withDefaults()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	for _, s := range []Side{baseline, candidate} {
		if err := s.check(); err != nil {
			return nil, err
		}
	}
	j := &judging{o: o, report: &Report{
		Baseline: baseline.Name, Candidate: candidate.Name, Alpha: o.Alpha, Margin: o.Margin, Resolution: o.Resolution, Paired: o.Paired,
		Lines: []Line{}, OnlyBaseline: []string{}, OnlyCandidate: []string{}, Doubts: []string{}, Notes: []string{},
	}}
	partner := map[Key]*Series{}
	for i := range candidate.Series {
		partner[candidate.Series[i].Key] = &candidate.Series[i]
	}
	for i := range baseline.Series {
		b := &baseline.Series[i]
		c := partner[b.Key]
		if c == nil {
			continue
		}
		if err := j.add(b, c); err != nil {
			return nil, err
		}
	}
	j.decide()
	j.alone(baseline, candidate)
	j.conclude(baseline, candidate)
	return j.report, nil
}

func (s *Side) check() error {
	seen := map[Key]bool{}
	for _, x := range s.Series {
		if seen[x.Key] {
			return fmt.Errorf("%s: there are two series of %s", s.Name, x.Key)
		}
		seen[x.Key] = true
		for _, v := range x.Values {
			if v < 0 || math.IsInf(v, 0) {
				return fmt.Errorf("%s: %s is %v; a figure is finite and at least 0", s.Name, x.Key, v)
			}
		}
	}
	return nil
}

type judging struct {
	o      Options
	report *Report
	asked  []question
}

type question struct {
	line int
	stats.Question
}

func (j *judging) add(b, c *Series) error {
	before, after, err := j.valid(b, c)
	if err != nil {
		return err
	}
	line := Line{
		Key: b.Key, Unit: b.Unit, MoreIsBetter: b.MoreIsBetter, BaselineRuns: len(before), CandidateRuns: len(after),
		Baseline: median(before), Candidate: median(after), Decision: record.Unclear, tail: b.Tail, timed: b.Kind == Timed,
	}
	q := question{line: len(j.report.Lines), Question: stats.Question{
		Margin: j.o.Margin, MoreIsBetter: b.MoreIsBetter, Counted: b.Kind != Timed && !b.Jitters && !c.Jitters,
	}}
	same := b.Machine != "" && b.Machine == c.Machine
	switch {
	case len(before) == 0 || len(after) == 0:
		line.NotCompared = "no valid run of one side"
	case b.Kind == Timed && !same:
		line.NotCompared = otherMachine(b.Machine, c.Machine)
	case b.Kind == Batched && !same:
		line.NotCompared = otherMachine(b.Machine, c.Machine) + ", whose speed decides how many completions share a commit"
	}
	if line.NotCompared == "" {
		if q.Test, err = j.test(before, after); err != nil {
			return fmt.Errorf("%s: %w", b.Key, err)
		}
		line.Exact = q.Exact()
		if !line.Exact && b.Kind == Counted && !same {
			q.Margin = max(q.Margin, JitterMargin)
		}
		if line.Exact && !b.Lenient {
			q.Margin = 0
		}
		j.asked = append(j.asked, q)
	}
	j.report.Lines = append(j.report.Lines, line)
	return nil
}

func (j *judging) valid(b, c *Series) (before, after []float64, err error) {
	if !j.o.Paired {
		return numbers(b.Values), numbers(c.Values), nil
	}
	if len(b.Values) != len(c.Values) {
		return nil, nil, fmt.Errorf("%s: %d runs against %d; pairs need as many of each", b.Key, len(b.Values), len(c.Values))
	}
	for i := range b.Values {
		if !math.IsNaN(b.Values[i]) && !math.IsNaN(c.Values[i]) {
			before, after = append(before, b.Values[i]), append(after, c.Values[i])
		}
	}
	return before, after, nil
}

func (j *judging) test(before, after []float64) (*stats.RatioTest, error) {
	if j.o.Paired {
		return stats.ComparePairs(before, after)
	}
	return stats.CompareGroups(before, after)
}

// decide answers all questions. Exact ones are not tests: they are answered separately and do not weaken the others.
func (j *judging) decide() {
	for _, exact := range []bool{true, false} {
		var asked []question
		var questions []stats.Question
		for _, q := range j.asked {
			if q.Exact() == exact {
				asked, questions = append(asked, q), append(questions, q.Question)
			}
		}
		for i, judged := range stats.Judge(questions, j.o.Alpha) {
			j.report.Lines[asked[i].line].fill(&asked[i], &judged)
		}
	}
}

func (l *Line) fill(q *question, judged *stats.Judgement) {
	l.Decision, l.Note = judged.Decision, judged.Warning
	if !l.Exact {
		l.P = &judged.Adjusted
	}
	if r := judged.Ratio; isFinite(r.Median) && isFinite(r.Lo) && isFinite(r.Hi) {
		l.Ratio = &record.Spread{Median: r.Median, Lo: r.Lo, Hi: r.Hi}
	}
	worst := judged.Within.Hi
	if q.MoreIsBetter {
		worst = 1 / judged.Within.Lo
	}
	if isFinite(worst) && judged.Within.Warning == "" {
		l.Worst = &worst
	}
}

func (j *judging) alone(baseline, candidate Side) {
	j.report.OnlyBaseline = missing(&baseline, &candidate)
	j.report.OnlyCandidate = missing(&candidate, &baseline)
}

// missing returns the rows that the other side lacks, and the figures that it lacks in common rows.
func missing(of, from *Side) []string {
	rows, keys := map[string]bool{}, map[Key]bool{}
	for _, s := range from.Series {
		rows[s.Row], keys[s.Key] = true, true
	}
	out := []string{}
	for _, s := range of.Series {
		name := s.Row
		if rows[s.Row] {
			if keys[s.Key] {
				continue
			}
			name = s.Key.String()
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

func otherMachine(a, b string) string {
	if a == "" || b == "" {
		return "it is not known that the machine is the same"
	}
	return "other machine"
}

func numbers(values []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(values), math.IsNaN)
}

func median(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	m := stats.Median(values)
	return &m
}

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// ErrNothing is the error of a source without runs.
var ErrNothing = errors.New("there is no run in it")
