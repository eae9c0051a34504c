package systems

import (
	"fmt"
	"path/filepath"
	"strings"

	"pulley/adapter/judge"
	"pulley/adapter/protocol"
	"pulley/adapter/trial"
	"pulley/bench/measure"
	"pulley/reports"
	"pulley/reports/record"
)

// verdicts name a judge's results as chaos of our own engines does.
var verdicts = map[judge.Result]string{judge.Keeps: "pass", judge.Breaks: "fail", judge.Inconclusive: "inconclusive"}

// chaosRecord is what a report shows of a finding, with the smallest case.
func chaosRecord(f *trial.Finding, dir string) *record.Chaos {
	r := f.First
	if f.Smallest != nil {
		r = f.Smallest
	}
	n := r.Verdict.Counts
	out := &record.Chaos{
		Tool: measure.Tool("pulley"), Verdict: verdicts[f.Outcome()], Backend: r.Hello.System + " " + r.Hello.SystemVersion, Engines: r.Case.Processes, Seed: r.Case.Seed,
		Instances: n.InstancesSubmitted, Completions: n.Executions, Faults: r.Faults, LeftOut: map[string]string{}, Repeat: "pulley chaos --replay " + filepath.Join(dir, "case.json"),
		Facts: []string{
			fmt.Sprintf("%d processes of the adapter %s, %d slots each, for %.0f s.", r.Case.Processes, r.Hello.Name, r.Case.Slots, float64(r.LastedMS)/1000),
			promised(&r.Hello.Promises),
			fmt.Sprintf("%d instances were accepted, %d ended, %d failed, %d were open at the end, %d lost.", n.InstancesAccepted, n.InstancesEnded, n.InstancesFailed, n.InstancesOpen, n.InstancesLost),
			fmt.Sprintf("%d executions, %d of them repeated ones, with %d kills and %d deaths of processes.", n.Executions, n.RepeatedExecutions, n.Kills, n.Deaths),
		},
	}
	for _, quiet := range []struct {
		when string
		*trial.Quiet
	}{{"Before", f.First.Before}, {"After", f.First.After}} {
		if quiet.Quiet != nil {
			out.Facts = append(out.Facts, fmt.Sprintf("%s the faults, in %.1f s: %s.", quiet.when, float64(quiet.LastedMS)/1000, quiet.Text()))
		}
	}
	for _, v := range r.Verdict.Violations {
		out.Why = append(out.Why, fmt.Sprintf("%s: %s", v.Rule, v.What))
	}
	out.Why = append(append(out.Why, r.Doubts...), r.Verdict.Unjudged...)
	out.Facts = append(out.Facts, r.Warnings...)
	return out
}

// promised says what a system is judged by.
func promised(p *protocol.Promises) string {
	var out []string
	for _, one := range []struct{ what, word string }{{"submit", p.Submit}, {"resubmit", p.Resubmit}, {"execution", p.Execution}, {"results", p.Results}, {"order", p.Order}} {
		if one.word != "" {
			out = append(out, one.what+" "+one.word)
		}
	}
	if len(out) == 0 {
		return "The system promises nothing that is judged."
	}
	return "The system is judged by what it promises: " + strings.Join(out, ", ") + "."
}

// writeRecord writes what a report shows, and the report.
func writeRecord(f *trial.Finding, dir string) error {
	if err := record.WriteChaos(dir, chaosRecord(f, dir)); err != nil {
		return err
	}
	_, err := reports.Write("chaos", dir)
	return err
}
