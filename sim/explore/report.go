package explore

import (
	"fmt"
	"strings"
	"time"
)

// String is one line of progress.
func (p Progress) String() string {
	c := p.Counts
	faults := 0
	for _, n := range c.Faults {
		faults += n
	}
	return fmt.Sprintf("%d seeds, %.0f seeds/s, %d steps, virtual time %.0f × real, %d faults", c.Seeds, rate(c.Seeds, p.Elapsed), c.Steps,
		float64(c.Virtual)/float64(max(p.Elapsed, 1)), faults)
}

func rate(n int, in time.Duration) float64 { return float64(n) / max(in.Seconds(), 1e-9) }

// Never lists what never happened: kinds of steps and of faults. A violation is not missed.
func (f *Found) Never() []string {
	var out []string
	c := &f.Counts
	for i, n := range c.Whats {
		if n == 0 && What(i) != Violated && !(What(i) >= Owns && What(i) <= ReadsState && f.Backend != "journal") {
			out = append(out, "step: "+What(i).String())
		}
	}
	for i, k := range Kinds() {
		if c.Faults[i] == 0 {
			out = append(out, "fault: "+string(k))
		}
	}
	return out
}

// Report says in words what a search has covered.
func (f *Found) Report() string {
	var b strings.Builder
	c := &f.Counts
	fmt.Fprintln(&b, Progress{Counts: c, Elapsed: f.Elapsed})
	fmt.Fprintf(&b, "%d programs, %d statements waited for locks, %d deadlocks, %d problems that engines reported\n",
		c.Programs, c.Whats[Waits], c.Deadlocks, c.Problems)
	fmt.Fprintln(&b, "\nsteps:")
	for i, n := range c.Whats {
		if n > 0 {
			fmt.Fprintf(&b, "  %-24s %d\n", What(i), n)
		}
	}
	fmt.Fprintln(&b, "\nfaults, by what they met:")
	for i, k := range Kinds() {
		fmt.Fprintf(&b, "  %-10s %d\n", k, c.Faults[i])
		for m, n := range c.Met[i] {
			if n > 0 {
				fmt.Fprintf(&b, "    %-50s %d\n", mood(m), n)
			}
		}
	}
	if never := f.Never(); len(never) > 0 {
		fmt.Fprintf(&b, "\nnever happened: %s\n", strings.Join(never, "; "))
	}
	if pairs := f.unmet(); len(pairs) > 0 {
		fmt.Fprintf(&b, "\nfaults that never met: %s\n", strings.Join(pairs, "; "))
	}
	return b.String()
}

// unmet lists the pairs of a fault and a state that some fault met, which never came together.
func (f *Found) unmet() []string {
	var seen [moods]bool
	for i := range f.Counts.Met {
		for m, n := range f.Counts.Met[i] {
			seen[m] = seen[m] || n > 0
		}
	}
	var out []string
	for i, k := range Kinds() {
		for m := range seen {
			if seen[m] && f.Counts.Met[i][m] == 0 && possible(k, mood(m)) {
				out = append(out, fmt.Sprintf("%s and %s", k, mood(m)))
			}
		}
	}
	return out
}

// possible says whether a fault can meet a state at all: those of connections need one, and a timeout one at work.
func possible(k Kind, m mood) bool {
	switch k {
	case Cut, Hang, Lost, Terminate:
		return m != 0
	case Timeout:
		return m != 0 && phase((m-1)%phases) == serving
	}
	return true
}
