package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

const mostListed = 10

func printPackage(w io.Writer, r result) {
	word := map[string]string{passed: "ok", failed: "FAIL", skipped: "none"}[r.Action]
	if r.Action == skipped {
		return // it has no tests
	}
	fmt.Fprintf(w, "%-5s %7.1f s %7.1f s CPU  %s\n", word, r.Seconds, r.CPU, short(r.Package))
}

func printFailures(w io.Writer, t *tally) {
	for _, r := range t.failures() {
		fmt.Fprintf(w, "\n--- FAILED: %s\n%s", r.name(), indent(r.Output))
		if again := repeat(r); again != "" {
			fmt.Fprintf(w, "    again: %s\n", again)
		}
	}
}

func repeat(r result) string {
	if r.Test == "" {
		return "go test -race ./" + short(r.Package)
	}
	parts := strings.Split(r.Test, "/")
	for i, part := range parts {
		parts[i] = "^" + part + "$"
	}
	return "go test -race ./" + short(r.Package) + " -run '" + strings.Join(parts, "/") + "'"
}

func indent(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString("    " + line)
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		out.WriteString("\n")
	}
	return out.String()
}

func printSummary(w io.Writer, t *tally) {
	tellMost(w, "packages that use the most processor time", t.Packages, func(r result) float64 { return r.CPU })
	tellMost(w, "slowest packages", t.Packages, func(r result) float64 { return r.Seconds })
	tellMost(w, "slowest tests", t.outermost(), func(r result) float64 { return r.Seconds })
	printSkipped(w, t)
	printCoverage(w, t)
	printFailures(w, t)
	counts := map[string]int{}
	for _, r := range t.Tests {
		counts[r.Action]++
	}
	verdict := "green"
	if !t.green() {
		verdict = "NOT GREEN"
	}
	fmt.Fprintf(w, "\n%s: %d packages, %d tests passed, %d failed, %d left out, in %s, with %.0f s of processor time\n",
		verdict, len(t.Packages), counts[passed], counts[failed], counts[skipped], (time.Duration(t.Wall) * time.Second).String(), t.CPU)
}

func (t *tally) outermost() []result {
	var list []result
	for _, r := range t.Tests {
		if !strings.Contains(r.Test, "/") {
			list = append(list, r)
		}
	}
	return list
}

func tellMost(w io.Writer, what string, list []result, seconds func(result) float64) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b result) int { return cmp.Compare(seconds(b), seconds(a)) })
	var sum float64
	for _, r := range list {
		sum += seconds(r)
	}
	fmt.Fprintf(w, "\nthe %s, of %.0f s in all:\n", what, sum)
	for _, r := range list[:min(mostListed, len(list))] {
		fmt.Fprintf(w, "%9.1f s  %s\n", seconds(r), r.name())
	}
}

// printSkipped lists skipped tests with their reasons, so that none counts as passed.
func printSkipped(w io.Writer, t *tally) {
	reasons := map[string][]string{}
	for _, r := range t.Tests {
		if r.Action == skipped {
			why := reason(r.Output)
			reasons[why] = append(reasons[why], r.name())
		}
	}
	if len(reasons) == 0 {
		return
	}
	fmt.Fprintln(w, "\nleft out:")
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		fmt.Fprintf(w, "  %s:\n    %s\n", why, strings.Join(reasons[why], "\n    "))
	}
}

func reason(output string) string {
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if place, why, ok := strings.Cut(line, ": "); ok && strings.Contains(place, ".go:") {
			return why
		}
	}
	return "without a reason"
}

func printCoverage(w io.Writer, t *tally) {
	if len(t.Coverage) == 0 {
		return
	}
	fmt.Fprintln(w, "\ncoverage, statements that a package's own tests reach:")
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', tabwriter.AlignRight)
	for _, name := range slices.Sorted(maps.Keys(t.Coverage)) {
		fmt.Fprintf(table, "%.1f %%\t  %s\n", t.Coverage[name], name)
	}
	_ = table.Flush() // to a terminal or a buffer
}
