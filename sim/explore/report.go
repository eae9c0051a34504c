package explore

import (
	"fmt"
	"strings"
	"time"

	"pulley/sim/cases"
	"pulley/sim/world"
)

// Coverage counts what happened in a design's worlds, and the time to play them.
type Coverage struct {
	Backend string
	Counts  world.Counts
	Elapsed time.Duration
}

// String returns one line.
func (f *Coverage) String() string {
	c := &f.Counts
	faults := 0
	for _, n := range c.Faults {
		faults += n
	}
	return fmt.Sprintf("%d seeds, %.0f seeds/s, %d steps, virtual time %.0f × real, %d faults", c.Seeds, rate(c.Seeds, f.Elapsed), c.Steps,
		float64(c.Virtual)/float64(max(f.Elapsed, 1)), faults)
}

func rate(n int, in time.Duration) float64 { return float64(n) / max(in.Seconds(), 1e-9) }

// Never lists the kinds of steps and faults that never happened, without violations.
func (f *Coverage) Never() []string {
	var out []string
	c := &f.Counts
	for i, n := range c.StepKinds {
		if n == 0 && world.StepKind(i) != world.Violated && world.StepKind(i).Of(f.Backend) {
			out = append(out, "step: "+world.StepKind(i).String())
		}
	}
	for i, k := range cases.Kinds() {
		if c.Faults[i] == 0 {
			out = append(out, "fault: "+string(k))
		}
	}
	return out
}

// Summary describes a search's coverage for a screen: how often each kind of step and fault happened, and how many of the
// possible target states each fault hit.
func (f *Coverage) Summary() string {
	var b strings.Builder
	f.head(&b)
	fmt.Fprintln(&b, "\nsteps:")
	var cells []string
	for i, n := range f.Counts.StepKinds {
		if n > 0 {
			cells = append(cells, fmt.Sprintf("%-*s%*d", whatWidth, world.StepKind(i), countWidth, n))
		}
	}
	rows := (len(cells) + columns - 1) / columns
	for r := range rows {
		b.WriteString(" ")
		for at := r; at < len(cells); at += rows {
			fmt.Fprintf(&b, " %s ", cells[at])
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "\nfaults: %*s  states met\n", countWidth+6, "times")
	met, all := 0, 0
	states := f.states()
	for i, k := range cases.Kinds() {
		unmet, possible := f.unmet(k, states), 0
		for _, m := range states {
			if canHit(k, m) {
				possible++
			}
		}
		met, all = met+possible-len(unmet), all+possible
		fmt.Fprintf(&b, "  %-10s%*d  %d of %d\n", k, countWidth, f.Counts.Faults[i], possible-len(unmet), possible)
	}
	f.foot(&b)
	fmt.Fprintf(&b, "\nfaults met %d of %d pairs with a state of connection and session\n", met, all)
	return b.String()
}

const (
	columns    = 3
	whatWidth  = 24
	countWidth = 10
)

// Report describes a search's coverage completely: how often each fault hit each target state, and which it never hit.
func (f *Coverage) Report() string {
	var b strings.Builder
	f.head(&b)
	fmt.Fprintln(&b, "\nsteps:")
	for i, n := range f.Counts.StepKinds {
		if n > 0 {
			fmt.Fprintf(&b, "  %-*s %d\n", whatWidth, world.StepKind(i), n)
		}
	}
	fmt.Fprintln(&b, "\nfaults, by what they met:")
	states := f.states()
	for i, k := range cases.Kinds() {
		fmt.Fprintf(&b, "  %-10s %d\n", k, f.Counts.Faults[i])
		for m, n := range f.Counts.Met[i] {
			if n > 0 {
				fmt.Fprintf(&b, "    %-50s %d\n", world.TargetState(m), n)
			}
		}
		for _, m := range f.unmet(k, states) {
			fmt.Fprintf(&b, "    %-50s never\n", m)
		}
	}
	f.foot(&b)
	return b.String()
}

func (f *Coverage) head(b *strings.Builder) {
	c := &f.Counts
	fmt.Fprintln(b, f)
	fmt.Fprintf(b, "%d programs, %d statements waited for locks, %d deadlocks, %d problems that engines reported\n",
		c.Programs, c.StepKinds[world.Waits], c.Deadlocks, c.Problems)
}

func (f *Coverage) foot(b *strings.Builder) {
	if never := f.Never(); len(never) > 0 {
		fmt.Fprintf(b, "\nnever happened: %s\n", strings.Join(never, "; "))
	}
}

func (f *Coverage) states() (seen []world.TargetState) {
	for m := range world.TargetState(world.TargetStates) {
		for i := range f.Counts.Met {
			if f.Counts.Met[i][m] > 0 {
				seen = append(seen, m)
				break
			}
		}
	}
	return seen
}

func (f *Coverage) unmet(k cases.Kind, states []world.TargetState) (out []world.TargetState) {
	for _, m := range states {
		if canHit(k, m) && f.Counts.Met[cases.KindNumber(k)][m] == 0 {
			out = append(out, m)
		}
	}
	return out
}

// canHit reports whether a fault can hit a state: some kinds need a connection, and a timeout needs a busy one.
func canHit(k cases.Kind, m world.TargetState) bool {
	switch k {
	case cases.Cut, cases.Hang, cases.Lost, cases.Terminate:
		return m != 0
	case cases.Timeout:
		return m != 0 && world.Phase((m-1)%world.Phases) == world.Serving
	}
	return true
}
