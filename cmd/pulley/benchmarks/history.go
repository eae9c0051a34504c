package benchmarks

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"pulley/bench/gobench"
	"pulley/bench/history"
	"pulley/bench/measure"
	"pulley/cmd/pulley/console"
	"pulley/internal/cause"
	"pulley/internal/plural"
	"pulley/reports"
	"pulley/reports/changes"
	"pulley/reports/page"
	"pulley/reports/record"
)

// HistoryCmd is pulley history.
type HistoryCmd struct {
	History      string   `arg:"" optional:"" default:"out/history" placeholder:"FILE|DIR" help:"The history, or a directory with a history.ndjson. Default: out/history."`
	Add          []string `sep:"none" placeholder:"RECORD" help:"First append what this holds: a directory that pulley compare has written, or a file in Go's benchmark format; may be repeated."`
	Revision     string   `placeholder:"COMMIT" help:"The commit of what is added and does not tell it itself."`
	Series       []string `sep:"none" placeholder:"TEXT" help:"Only series whose name has all words of this text, as in 'fanout push nodes_per_s'; may be repeated for more series."`
	Since        string   `placeholder:"TIME" help:"Only runs from then on: 2026-01-31, a time in RFC 3339, or so long ago, as in 30d or 12h."`
	MinChange    float64  `default:"0.01" placeholder:"PART" help:"By which part of itself a mean must change, 0 for any. Default: 0.01, which is 1 %."`
	FailOnChange bool     `help:"Exit with 1 if a series has changed for the worse within its last runs, with 3 if none has enough runs to tell."`
	Last         int      `default:"10" placeholder:"N" help:"How many runs those are. Default: 10."`
	Plot         string   `placeholder:"FILE" help:"Draw the one series that is chosen, with its changes, as an .svg or .png."`
	Out          string   `placeholder:"DIR" help:"Write history.json and report.html there: the figures over time, with their changes, and the history itself."`
	console.FormatFlag
}

// Help completes the command's help.
func (HistoryCmd) Help() string {
	return "A history has a line for each run: what one workload on one design came to, at one revision on one machine. pulley compare --history FILE and --add " +
		"append to it; a run that is there already is not added again. A series is one figure of it over time, with one value for each run. Machines, servers and " +
		"loads are never mixed.\n\n" +
		"A change is where the distribution moves and stays, found with E-divisive on windows of 50 runs (Matteson and James 2014; Hunter 2023) and confirmed by a permutation test at " +
		"p ≤ 0.01. It needs 3 runs on either side and 10 in all; for fewer, no change is claimed. The cause lies among the commits between the last run before it and the " +
		"first run after it, unless it is the machine that changed: of 100 steady series about one shows a change, but many do where a machine's speed drifts from run to run.\n\n" +
		"Exit status: 0; with --fail-on-change 1 for a change for the worse, and 3 if there are too few runs; 2 for a mistake in the command line or in a file.\n\n" +
		"Examples:\n\n" +
		"  pulley compare fanout=100 --history out/history/history.ndjson\n" +
		"  pulley history --add out/compare --series 'fanout push nodes_per_s'\n" +
		"  go test -bench . | tee bench.txt && pulley history mine.ndjson --add bench.txt --revision $(git rev-parse HEAD)\n" +
		"  pulley history --since 90d --fail-on-change --last 5\n" +
		"  pulley history --series 'fanout push 100 saturated nodes_per_s' --plot fanout.svg"
}

const skippedMax = 10

// Run adds, analyzes and prints.
func (o *HistoryCmd) Run(c *console.Console) error {
	since, err := o.check(time.Now())
	if err != nil {
		return err
	}
	path := o.History
	if info, err := os.Stat(path); err == nil && info.IsDir() || err != nil && filepath.Ext(path) == "" {
		path = filepath.Join(path, history.FileName)
	}
	if err := o.add(c, path); err != nil {
		return err
	}
	runs, skipped, err := history.Read(path)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w; begin one with pulley history %s --add RECORD, or pulley compare --history %s", err, o.History, path)
	}
	if err != nil {
		return err
	}
	if len(runs) == 0 && len(skipped) > 0 {
		return fmt.Errorf("read %s: there is no run in it, line %d %s; what is to be added to a history is named with --add", path, skipped[0].Line, skipped[0].Why)
	}
	for i, s := range skipped {
		if i == skippedMax {
			c.Say("pulley: %s: %d more lines are skipped", path, len(skipped)-i)
			break
		}
		c.Say("pulley: %s:%d %s; the line is skipped", path, s.Line, s.Why)
	}
	runs = slices.DeleteFunc(runs, func(r history.Run) bool { return r.Time.Before(since) })
	report, err := o.analyze(path, runs, skipped)
	if err != nil {
		return err
	}
	if o.Plot != "" {
		if err := o.plot(report); err != nil {
			return err
		}
	}
	if err := o.write(c, report, path); err != nil {
		return err
	}
	if err := o.print(c, report); err != nil {
		return err
	}
	return o.verdict(report)
}

// write puts the report and a page on it into --out.
func (o *HistoryCmd) write(c *console.Console, report *history.Report, path string) error {
	if o.Out == "" {
		return nil
	}
	text, err := console.JSONText(report)
	if err != nil {
		return err
	}
	err = record.WriteFile(filepath.Join(o.Out, history.ReportFile), func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
	if err != nil {
		return err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, cause.Of(err))
	}
	carried := []page.File{{Name: history.ReportFile, Data: []byte(text)}}
	if len(data) <= reports.RecordMost {
		carried = append(carried, page.File{Name: history.FileName, Data: data})
	}
	file := filepath.Join(o.Out, record.ReportFile)
	if err := record.WriteFile(file, changes.History(report, carried...).WriteHTML); err != nil {
		return err
	}
	c.Say("report: %s", file)
	return nil
}

func (o *HistoryCmd) check(now time.Time) (time.Time, error) {
	switch ext := filepath.Ext(o.Plot); {
	case !(o.MinChange >= 0) || math.IsInf(o.MinChange, 0):
		return time.Time{}, fmt.Errorf("--min-change %v: choose 0 or more", o.MinChange)
	case o.Last < 1:
		return time.Time{}, fmt.Errorf("--last %d: choose 1 or more", o.Last)
	case o.Plot != "" && ext != ".svg" && ext != ".png":
		return time.Time{}, fmt.Errorf("--plot %s: the name ends in .svg or .png", o.Plot)
	case o.Revision != "" && len(o.Add) == 0:
		return time.Time{}, errors.New("--revision is for what --add adds, and nothing is added")
	}
	since, err := parseSince(o.Since, now)
	if err != nil {
		return time.Time{}, fmt.Errorf("--since %s: %w", o.Since, err)
	}
	return since, nil
}

// parseSince parses a day, a time, or a duration before now. The zero time means no bound.
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	return time.Time{}, errors.New("is neither a day as in 2026-01-31, nor a time in RFC 3339, nor as long ago as 30d or 12h")
}

// add reads everything that --add names before it writes.
func (o *HistoryCmd) add(c *console.Console, path string) error {
	var all []history.Run
	for _, from := range o.Add {
		runs, err := o.runsOf(c, from)
		if err != nil {
			return fmt.Errorf("--add: %w", err)
		}
		all = append(all, runs...)
	}
	if len(o.Add) == 0 {
		return nil
	}
	return appendHistory(c, path, all)
}

func appendHistory(c *console.Console, path string, runs []history.Run) error {
	added, err := history.Append(path, runs)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("history: %s added to %s", plural.Of(added, "run"), path)
	if known := len(runs) - added; known > 0 {
		text += fmt.Sprintf("; %s there already", plural.Of(known, "run"))
	}
	c.Say("%s", text)
	return nil
}

func (o *HistoryCmd) runsOf(c *console.Console, from string) ([]history.Run, error) {
	info, err := os.Stat(from)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", from, cause.Of(err))
	}
	if !info.IsDir() {
		f, err := gobench.ReadFile(from)
		if err != nil {
			return nil, fmt.Errorf("%w; a record of pulley compare is named by its directory", err)
		}
		for _, w := range f.Warnings {
			c.Say("pulley: %s", w)
		}
		runs, err := history.FromGoBench(f, history.BenchOrigin{Time: info.ModTime(), Revision: o.Revision})
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", from, err)
		}
		return runs, nil
	}
	summary, err := record.ReadSummary(filepath.Join(from, record.SummaryFile))
	if err != nil {
		return nil, err
	}
	manifest, err := record.ReadManifest(filepath.Join(from, record.ManifestFile))
	if err != nil {
		return nil, err
	}
	manifest.Tool.Revision = cmp.Or(manifest.Tool.Revision, o.Revision)
	return recordRuns(c, summary, manifest), nil
}

func recordRuns(c *console.Console, s *record.Summary, m *record.Manifest) []history.Run {
	runs, left := history.FromRecord(s, m)
	for _, l := range left {
		c.Say("history: left out %s", l)
	}
	return runs
}

func (o *HistoryCmd) analyze(path string, runs []history.Run, skipped []history.Skipped) (*history.Report, error) {
	report, err := history.AnalyzeAll(path, runs, skipped, func(name string) bool { return chosen(name, o.Series) }, history.Options{MinChange: o.MinChange, Recent: o.Last, Seed: 1})
	if err != nil {
		return nil, err
	}
	report.Command = measure.Command(os.Args)
	if len(o.Series) > 0 && len(report.Series) == 0 {
		if all := history.Group(runs); len(all) > 0 {
			return nil, fmt.Errorf("--series %s: no series has all these words; one of them is %s", strings.Join(o.Series, ", "), all[0].Name())
		}
	}
	return report, nil
}

// chosen reports whether there are no texts, or the name has all words of one of them.
func chosen(name string, texts []string) bool {
	return len(texts) == 0 || slices.ContainsFunc(texts, func(text string) bool {
		return !slices.ContainsFunc(strings.Fields(text), func(word string) bool { return !strings.Contains(name, word) })
	})
}

func (o *HistoryCmd) plot(report *history.Report) error {
	if n := len(report.Series); n != 1 {
		return fmt.Errorf("--plot draws one series, and %d are chosen; choose with --series", n)
	}
	f := report.Series[0]
	chart, err := changes.CourseChart(changes.CourseOf(&f))
	if err != nil {
		return fmt.Errorf("--plot: %w", err)
	}
	return record.WriteFile(o.Plot, func(w io.Writer) error { return chart.Write(w, filepath.Ext(o.Plot)[1:]) })
}

func (o *HistoryCmd) print(c *console.Console, report *history.Report) error {
	return c.Show(func(w io.Writer) error {
		if o.Format == "json" {
			return console.EncodeJSON(w, report)
		}
		return report.WriteText(w)
	})
}

func (o *HistoryCmd) verdict(report *history.Report) error {
	if !o.FailOnChange {
		return nil
	}
	if worse := report.RecentWorse(); len(worse) > 0 {
		return &console.Status{Code: console.ExitFailed, Err: fmt.Errorf("%d of %d series changed for the worse within the last %s; the first is %s",
			len(worse), len(report.Series), plural.Of(o.Last, "run"), worse[0].Name())}
	}
	if report.Undecided() {
		return &console.Status{Code: console.ExitInconclusive, Err: errors.New("no series has enough runs for a change to be told: ten are the least")}
	}
	return nil
}
