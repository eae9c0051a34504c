package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

func (n *night) historyFile() string { return n.file("history", "history.ndjson") }

// comparison is measured in addition to the Go benchmarks: a wide and a deep workflow, for latency and throughput.
var comparison = []string{"fanout=100", "chain=10", "--backends", "push,journal,eager,pull", "--quick", "--no-ceiling"}

func runBenchmarks(ctx context.Context, n *night, until time.Time, o *outcome) error {
	if err := n.compareDesigns(ctx, o); err != nil {
		return err
	}
	file := n.file("bench.txt")
	before := len(o.Problems)
	figures, err := n.runGoBenchmarks(ctx, file, until, o)
	if err != nil || len(o.Problems) > before {
		return err
	}
	if figures == 0 {
		o.Notes = append(o.Notes, "there was no time for a Go benchmark")
		return nil
	}
	o.Notes = append(o.Notes, "the figures are in "+file+" and, with those of other nights, in "+n.historyFile())
	return n.runSilently(ctx, n.pulley(), "history", n.historyFile(), "--add", file, "--revision", n.commit(ctx))
}

func (n *night) compareDesigns(ctx context.Context, o *outcome) error {
	var out bytes.Buffer
	args := append(append([]string{n.pulley(), "compare"}, comparison...), "--out", n.file("compare"), "--history", n.historyFile(), "--revision", n.commit(ctx))
	err := n.workdir.run(ctx, command{args: args, out: &out})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		o.Fail(problem{What: "the comparison ended with " + err.Error(), Again: command{args: append([]string{"go", "run", "./cmd/pulley", "compare"}, comparison...)}.String(), Output: failedPart(out.String())})
		return nil
	}
	var summary struct{ Rows []struct{} }
	if err := readJSON(n.file("compare", "summary.json"), &summary); err != nil {
		return err
	}
	o.Add("rows of pulley compare", int64(len(summary.Rows)))
	return nil
}

// runGoBenchmarks repeats the Go benchmarks while there is time, keeps their output, and counts the figures. If the time is too
// short for all, it keeps those that ended. It first removes another night's file.
func (n *night) runGoBenchmarks(ctx context.Context, file string, until time.Time, o *outcome) (figures int64, err error) {
	if err := os.RemoveAll(file); err != nil {
		return 0, err
	}
	limited, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	var all bytes.Buffer
	for limited.Err() == nil {
		var out bytes.Buffer
		err := n.withServer(ctx, func(env map[string]string) error {
			args := []string{"go", "test", "-run", "^$", "-bench", ".", "-benchtime", "200ms", "-p", "1", "-timeout", "0", "./..."}
			return n.workdir.run(limited, command{args: args, env: env, out: &out})
		})
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if err != nil && limited.Err() == nil {
			o.Fail(problem{What: "the benchmarks failed: " + firstFailure(out.String(), "."), Again: "make bench", Output: failedPart(out.String())})
			return 0, nil
		}
		kept := keepFigures(&all, out.String())
		figures += kept
		o.Add("figures of benchmarks", kept)
		if err := os.WriteFile(file, all.Bytes(), 0o644); err != nil {
			return 0, err
		}
	}
	return figures, nil
}

func keepFigures(to *bytes.Buffer, output string) (figures int64) {
	for line := range strings.Lines(output) {
		if !strings.HasSuffix(line, "\n") || strings.HasSuffix(line, "[no test files]\n") {
			continue
		}
		if strings.HasPrefix(line, "Benchmark") && strings.Contains(line, "/op") {
			figures++
		}
		to.WriteString(line)
	}
	return figures
}

// runGate compares this revision with the baseline: both are built, and run in turn. The baseline is the first night's revision
// or that of --baseline, until another is named. A moving baseline would let a scheduler become a little slower each night.
func runGate(ctx context.Context, n *night, until time.Time, o *outcome) error {
	head, err := n.resolve(ctx, "HEAD")
	if err != nil {
		return fmt.Errorf("the gate needs the history of revisions: %w", err)
	}
	n.state.Baseline = cmp.Or(n.state.Baseline, head)
	if n.state.Baseline == head {
		o.Notes = append(o.Notes, "nothing to compare: this is the baseline, "+short12(head))
		return nil
	}
	if _, err := n.resolve(ctx, n.state.Baseline); err != nil {
		o.Doubt(problem{What: fmt.Sprintf("the baseline %s is not among the revisions here: fetch them all, or name another with --baseline", short12(n.state.Baseline))})
		return nil
	}
	return n.gate(ctx, head, until, o)
}

func (n *night) resolve(ctx context.Context, revision string) (string, error) {
	var out, problems bytes.Buffer
	err := n.run(ctx, command{args: []string{"git", "rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"}, out: &out, err: &problems})
	if err != nil {
		return "", fmt.Errorf("%s is no revision of this repository: %w", revision, err)
	}
	return strings.TrimSpace(out.String()), nil
}

func (n *night) commit(ctx context.Context) string {
	head, _ := n.resolve(ctx, "HEAD")
	return head
}

func (n *night) gate(ctx context.Context, head string, until time.Time, o *outcome) error {
	args := []string{"gate", "--revisions", n.state.Baseline, head, "--max-duration", left(until), "--out", n.file("gate")}
	code, output, err := n.askGo(ctx, append([]string{n.pulley()}, args...)...)
	if err != nil {
		return err
	}
	var report struct {
		Sentence string
		Lines    []struct{}
	}
	if err := readJSON(n.file("gate", "gate.json"), &report); err != nil {
		return err
	}
	o.Add("figures held against "+short12(n.state.Baseline), int64(len(report.Lines)))
	p := problem{What: report.Sentence, Again: command{args: append([]string{"go", "run", "./cmd/pulley"}, args[:4]...)}.String(), Output: output}
	switch code {
	case exitFailed:
		o.Fail(p)
	case exitInconclusive:
		o.Doubt(p)
	default:
		o.Notes = append(o.Notes, report.Sentence)
	}
	return nil
}

// runChanges looks for changes in the figures of all nights. With too few nights it only notes that.
func runChanges(ctx context.Context, n *night, _ time.Time, o *outcome) error {
	if _, err := os.Stat(n.historyFile()); errors.Is(err, os.ErrNotExist) {
		o.Notes = append(o.Notes, "there is no history yet: the part benchmarks begins one")
		return nil
	}
	args := []string{"history", n.historyFile(), "--fail-on-change"}
	code, output, err := n.askGo(ctx, append([]string{n.pulley()}, args...)...)
	if err != nil {
		return err
	}
	if code == exitFailed {
		o.Fail(problem{What: "a figure has changed for the worse", Again: command{args: append([]string{"go", "run", "./cmd/pulley"}, args...)}.String(), Output: output})
	}
	o.Notes = append(o.Notes, firstLine(output))
	return nil
}

func short12(commit string) string { return commit[:min(12, len(commit))] }
