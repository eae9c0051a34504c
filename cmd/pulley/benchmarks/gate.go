package benchmarks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"pulley/bench/gate"
	"pulley/bench/gate/pairs"
	"pulley/bench/gobench"
	"pulley/bench/measure"
	"pulley/cmd/pulley/console"
	"pulley/internal/cause"
	"pulley/internal/live"
	"pulley/reports"
	"pulley/reports/record"
)

// GateCmd is pulley gate.
type GateCmd struct {
	Baseline  string   `arg:"" optional:"" help:"A directory of records, a file in Go's benchmark format, or a revision."`
	Candidate string   `arg:"" optional:"" help:"Another, which is held against it."`
	Flags     []string `arg:"" optional:"" help:"Behind --: what pulley compare is given, with --revisions and --self-test."`
	console.ServerFlags
	Revisions        bool          `help:"BASELINE and CANDIDATE are git revisions: both are built, and take turns on this machine."`
	Bench            string        `placeholder:"PATTERN" help:"With --revisions: the benchmarks of any Go module that take turns, as go test -bench names them, instead of pulley compare."`
	Package          string        `placeholder:"PKG" help:"With --bench: the packages, as in ./... Default: the one in this directory."`
	Benchtime        string        `default:"100ms" placeholder:"TIME" help:"With --bench: how long each benchmark runs, five times in a turn; or 100x. Default: 100ms."`
	SelfTest         bool          `help:"Plant slowdowns of 5, 10 and 25 % and an extra row read per node, and see that they are found; compare the same with the same, and count false alarms."`
	Tries            int           `placeholder:"N" help:"With --self-test: tries for each plant; false alarms have five times as many. Default: 20."`
	Only             string        `placeholder:"PLANT" help:"With --self-test: one of none, 5%, 10%, 25% and row alone."`
	Disturb          bool          `help:"With --self-test: other work comes and goes at random meanwhile."`
	Runs             int           `placeholder:"N" help:"With --revisions and --self-test: pairs of turns, from 2 to 1000. Default: 40."`
	MaxDuration      time.Duration `placeholder:"TIME" help:"With --revisions: begin no pair that would not end within so long, builds included, as in 10m. Default: all pairs."`
	Margin           string        `default:"3%" placeholder:"SHARE" help:"How much worse a figure may be, as in 3% or 0.03. Default: 3%."`
	Resolution       string        `placeholder:"SHARE" help:"A row passes only if its runs exclude that it is worse by so much. Default: 25%, or twice the margin if that is more."`
	Alpha            string        `default:"0.05" placeholder:"SHARE" help:"The probability of a false alarm, over all figures together. Default: 0.05."`
	console.SeedFlag `set:"drawn=the order within pairs, and of what disturbs"`
	Out              string `placeholder:"DIR" help:"Write gate.json, gate.txt and report.html there, and with --revisions the records of all turns."`
	console.FormatFlag

	words []string    `kong:"-"` // all but this command's flags, in order
	run   *live.Run   `kong:"-"`
	until pairs.Until `kong:"-"` // from --max-duration
}

// With random other load on the machine, a ratio's interval is some ±6 % with 40 pairs. Of 20 planted slowdowns of 10 %, 20
// pairs find 16, and 40 find 20.
const pairsDefault = 40

// Help completes the command's help.
func (GateCmd) Help() string {
	return `Three outcomes: no regression is shown beyond the margin (exit status 0), a regression (1), inconclusive (3): too few or too noisy runs, runs that were not valid, or nothing in common. 2 is a mistake in the command line.

Counts (rows, statements, commits, WAL, allocations) gate on any machine; times only where both sides were measured on the same one. Several records below a directory are several runs. A figure is a regression if a test over the runs, corrected for there being many figures (Holm), shows a difference, and the estimate is worse by more than the margin; a count that is the same in all runs of each side is compared as it is.

Examples:

  pulley gate out/yesterday out/today                 # records that pulley compare --out wrote
  go test -bench . -count 10 > new.txt; pulley gate old.txt new.txt
  pulley gate --revisions v1.2 HEAD                   # builds both, and lets them take turns; minutes
  pulley gate --revisions main HEAD -- fanout=100 --backends journal --load saturated
  pulley gate --revisions HEAD~1 HEAD --bench . --package ./...     # of any Go module
  pulley gate --self-test --disturb --tries 5         # does it find what it should?`
}

// Run judges, and exits with the outcome's status.
func (o *GateCmd) Run(c *console.Console) error {
	for _, word := range append([]string{o.Baseline, o.Candidate}, o.Flags...) {
		if word != "" {
			o.words = append(o.words, word) // with --self-test all are flags
		}
	}
	opts, err := o.options()
	if err != nil {
		return err
	}
	if err := prepareOut(o.Out, GateJSON, "gate"); err != nil {
		return err
	}
	if o.SelfTest {
		return o.selfTest(c, opts)
	}
	if !o.Revisions {
		report, err := o.files(c, opts)
		if err != nil {
			return err
		}
		return o.finish(c, report)
	}
	ctx, stop := console.Interruptible()
	defer stop()
	run, end := c.Follow("gate", o.Out)
	o.run = run
	report, err := o.revisions(ctx, c, opts)
	if err != nil {
		err = console.Ended(ctx, err)
	} else {
		err = o.finish(c, report)
	}
	end(err)
	return err
}

func (o *GateCmd) finish(c *console.Console, report *gate.Report) error {
	report.Command = measure.Command(os.Args)
	if err := o.printProgress(c, report); err != nil {
		return err
	}
	if code := report.Outcome.ExitCode(); code != 0 {
		return &console.Status{Code: code}
	}
	return nil
}

func (o *GateCmd) options() (gate.Options, error) {
	var opts gate.Options
	for _, flag := range []struct {
		name, text string
		to         *float64
	}{{"margin", o.Margin, &opts.Margin}, {"alpha", o.Alpha, &opts.Alpha}, {"resolution", o.Resolution, &opts.Resolution}} {
		if flag.text == "" {
			continue
		}
		v, err := console.ParseShare(flag.text)
		if none := flag.name == "margin" && (flag.text == "0" || flag.text == "0%"); none {
			v, err = -1, nil // Options uses 0 for the default
		}
		if err != nil {
			return opts, fmt.Errorf("--%s %s: %w", flag.name, flag.text, err)
		}
		*flag.to = v
	}
	if err := opts.Validate(); err != nil {
		return opts, err
	}
	return opts, o.check()
}

func (o *GateCmd) check() error {
	turns := o.Revisions || o.SelfTest
	switch {
	case o.Revisions && o.SelfTest:
		return errors.New("--revisions and --self-test are two things; choose one")
	case o.Runs != 0 && !turns:
		return errors.New("--runs is for --revisions and --self-test; files have the runs that they have")
	case o.Runs != 0 && (o.Runs < 2 || o.Runs > 1000):
		return fmt.Errorf("--runs %d: choose from 2 to 1000", o.Runs)
	case !o.SelfTest && (o.Tries != 0 || o.Disturb || o.Only != ""):
		return errors.New("--tries, --only and --disturb are for --self-test")
	case o.Tries < 0 || o.Tries > 10_000:
		return fmt.Errorf("--tries %d: choose from 1 to 10000", o.Tries)
	case o.MaxDuration < 0 || o.MaxDuration != 0 && !o.Revisions:
		return errors.New("--max-duration is for --revisions, and more than zero, as in 10m")
	case o.Bench != "" && !o.Revisions:
		return errors.New("--bench is for --revisions; name the files in Go's benchmark format otherwise")
	case o.Package != "" && o.Bench == "":
		return errors.New("--package is for --bench PATTERN")
	case o.Bench != "" && len(o.words) > 2:
		return errors.New("with --bench no flags of pulley compare are used; leave out what stands behind --")
	case !turns && len(o.words) != 2:
		return fmt.Errorf("name a baseline and a candidate: two directories of records, or two files in Go's benchmark format; there are %d", len(o.words))
	case o.Revisions && len(o.words) < 2:
		return errors.New("name two revisions, as in pulley gate --revisions HEAD~1 HEAD")
	}
	return nil
}

func (o *GateCmd) pairs() int {
	if o.Runs == 0 {
		return pairsDefault
	}
	return o.Runs
}

func (o *GateCmd) files(c *console.Console, opts gate.Options) (*gate.Report, error) {
	var sides [2]gate.Side
	for i, path := range o.words {
		side, err := readSide(path, func(line string) { c.Say("%s", line) })
		if err != nil {
			return nil, err
		}
		sides[i] = side
	}
	return gate.Judge(sides[0], sides[1], opts)
}

func readSide(path string, warn func(string)) (gate.Side, error) {
	info, err := os.Stat(path)
	if err != nil {
		return gate.Side{}, fmt.Errorf("read %s: %w; name a directory of records, or a file in Go's benchmark format", path, cause.Of(err))
	}
	if !info.IsDir() && filepath.Base(path) == record.ManifestFile {
		path, info = filepath.Dir(path), nil
	}
	if info == nil || info.IsDir() {
		runs, err := gate.ReadRuns(path)
		if err != nil {
			return gate.Side{}, err
		}
		return gate.FromRuns(path, runs), nil
	}
	f, err := gobench.ReadFile(path)
	if err != nil {
		return gate.Side{}, err
	}
	for _, line := range f.Warnings {
		warn(line)
	}
	return gate.FromBenchmarks(path, f), nil
}

// Files of a gate.
const (
	GateJSON = reports.GateFile
	GateText = "gate.txt"
)

// mayReplace rejects a directory that has files, but not the one that the command writes.
func mayReplace(dir, file, command string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("--out %s: %w", dir, cause.Of(err))
	}
	if _, err := os.Lstat(filepath.Join(dir, file)); err != nil && len(entries) > 0 {
		return fmt.Errorf("--out %s: there is something in it that no pulley %s wrote; choose another directory, or move it away", dir, command)
	}
	return nil
}

// prepareOut creates the directory for a command's files, unless none was asked for.
func prepareOut(dir, file, command string) error {
	if dir == "" {
		return nil
	}
	if err := console.Writable(dir); err != nil {
		return err
	}
	return mayReplace(dir, file, command)
}

// writeFiles writes each text to the file of its name in dir, whole or not at all.
func writeFiles(dir string, texts map[string]string) error {
	for name, text := range texts {
		err := record.WriteFile(filepath.Join(dir, name), func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (o *GateCmd) printProgress(c *console.Console, report *gate.Report) error {
	var text bytes.Buffer
	if err := report.WriteText(&text); err != nil {
		return err
	}
	if err := o.publish(c, report, text.String()); err != nil || o.Out == "" {
		return err
	}
	return sayReport(c, "gate", o.Out)
}

// sayReport writes the page on the record in dir, and says where it is.
func sayReport(c *console.Console, kind, dir string) error {
	file, err := reports.Write(kind, dir)
	if err != nil {
		return err
	}
	c.Say("report: %s", file)
	return nil
}

func (o *GateCmd) publish(c *console.Console, value any, text string) error {
	var data bytes.Buffer
	if err := console.EncodeJSON(&data, value); err != nil {
		return err
	}
	if o.Out != "" {
		if err := writeFiles(o.Out, map[string]string{GateJSON: data.String(), GateText: text}); err != nil {
			return err
		}
	}
	if o.Format == "json" {
		return c.Print(data.String())
	}
	return c.Print(text)
}

// serverFor opens a server if a backend in flags of pulley compare needs one. env names it to the commands.
func (o *GateCmd) serverFor(ctx context.Context, c *console.Console, flags []string) (env []string, closing func(), err error) {
	if !needsPostgres(flags) {
		return nil, func() {}, nil
	}
	server, closing, err := o.Serve(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	return []string{"PULLEY_DSN=" + server.DSN()}, closing, nil
}
