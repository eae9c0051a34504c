package benchmarks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"pulley/bench/claim"
	"pulley/bench/claims"
	"pulley/bench/measure"
	"pulley/cmd/pulley/console"
	"pulley/internal/live"
	"pulley/internal/plural"
)

// ClaimsCmd is pulley claims.
type ClaimsCmd struct {
	console.ServerFlags
	Only  []string `placeholder:"NAME" help:"Measure these experiments only, joined by commas; they are listed below."`
	Goals bool     `help:"Hold the project's own goals against measurements, instead of what others published. Takes 4 GB of disk."`
	Peers bool     `help:"Set beside measurements what other systems' authors published about them, each figure in its own shape, instead."`
	systemsFlags
	Quick bool `help:"Fewer repetitions and smaller sizes."`
	Runs  int  `placeholder:"N" help:"Repetitions, from 1 to 100; six or more give 95 % intervals, fewer the range. Default: 6, or 3 with --quick and of goals."`
	console.FormatFlag
	Out string `placeholder:"DIR" help:"Write claims.json, claims.txt and report.html there."`
}

// Help completes the command's help.
func (ClaimsCmd) Help() string {
	text := "For every claim: where it was published, how it is measured, the measured figures with their intervals, and a verdict. " +
		"Every run is checked; one that was not right counts for nothing. A claim that does not hold is a finding, not a failure.\n\n" +
		"Figures of other systems are of other machines, and are not judged: the sources, with hardware and durability, stand beside what our schedulers do here in the same shape, and, with --systems, the systems themselves through their adapters, " +
		"ours with them. A system whose adapter is not there is left out, with what builds it.\n\n" +
		"Garbage is collected as with GOGC=400, unless that is set, but for what is claimed of memory. The goal tasks builds a program with the Go tool, in pulley's source.\n\n" +
		"Exit status: 0 if everything was measured, whatever the verdicts; 1 if a figure could not be measured validly; 2 for a mistake in the command line or an unusable database.\n\n" +
		"Experiments:\n\n"
	for line := range bytes.Lines([]byte(claims.Help())) {
		text += "  " + string(line)
	}
	return text + "\nExample: pulley claims --peers --systems river,dbos --quick"
}

// Run measures and prints.
func (o *ClaimsCmd) Run(c *console.Console) error {
	cfg, err := o.config(c)
	if err != nil {
		return console.Refuse(err)
	}
	experiments, took, err := cfg.Plan()
	if err != nil {
		return console.Refuse(err)
	}
	if err := prepareOut(o.Out, claim.FileName, "claims"); err != nil {
		return err
	}
	if os.Getenv(childEnv) == "" {
		console.TuneGC()
	}
	ctx, stop := console.Interruptible()
	defer stop()
	server, closing, err := o.Serve(ctx, c)
	if err != nil {
		return err
	}
	defer closing()
	cfg.DSN, cfg.Way, cfg.Fresh = server.DSN(), server.Describe(), o.fresh(server.DSN(), c)
	report := claim.Report{Command: measure.Command(os.Args), Tool: measure.Tool("pulley"), Host: measure.Host(), StartedAt: time.Now()}
	if report.Postgres, err = settings(ctx, server); err != nil {
		return console.Ended(ctx, err)
	}
	if os.Getenv(childEnv) == "" {
		c.Say("%s, about %s on two cores", plural.Of(experiments, "experiment"), took.Round(estimateGrain(took)))
	}
	run, end := c.Follow("claims", o.Out)
	step := live.Step{Unit: "experiments"}
	cfg.Began = func(done, total int, experiment string) {
		step.What, step.Done, step.Total = experiment, float64(done), float64(total)
	}
	cfg.Progress = func(line string) {
		run.Note("%s", line)
		step.Detail = line
		run.Step(step)
	}
	found, failed := claims.Measure(ctx, cfg)
	end(failed)
	if failed != nil && len(found) == 0 {
		return console.Ended(ctx, failed)
	}
	report.EndedAt, report.Claims = time.Now(), found
	if err := o.print(c, &report); err != nil {
		return err
	}
	if failed != nil {
		return console.Ended(ctx, failed)
	}
	for _, claim := range found {
		if !claim.Measured() {
			return &console.Status{Code: console.ExitFailed, Err: fmt.Errorf("claim %s was not measured in full: %s", claim.ID, claim.Why)}
		}
	}
	return nil
}

func (o *ClaimsCmd) config(c *console.Console) (cfg claims.Config, err error) {
	given := givenFlags(map[string]bool{"--goals": o.Goals, "--only": o.Only != nil, "--peers": o.Peers})
	if len(given) > 1 {
		return cfg, fmt.Errorf("%s are given together; choose one", strings.Join(given, " and "))
	}
	cfg = claims.Config{
		Only: o.Only, Goals: o.Goals, Peers: o.Peers, Runs: o.Runs, Quick: o.Quick, Tune: !o.NoTune, Asked: o.Systems,
	}
	if err := cfg.Check(); err != nil { // before adapters are started
		return cfg, err
	}
	cfg.Systems, cfg.Missing, err = o.greetBesideOurs(c)
	return cfg, err
}

func (o *ClaimsCmd) print(c *console.Console, report *claim.Report) error {
	if report.Claims == nil {
		report.Claims = []claim.Claim{}
	}
	var text, data bytes.Buffer
	if err := claim.WriteText(&text, report.Claims); err != nil {
		return err
	}
	if err := console.EncodeJSON(&data, report); err != nil {
		return err
	}
	shown := &text
	if o.Format == "json" {
		shown = &data
	}
	if err := c.Print(shown.String()); err != nil || o.Out == "" {
		return err
	}
	if err := writeFiles(o.Out, map[string]string{claim.FileName: data.String(), claimsText: text.String()}); err != nil {
		return err
	}
	return sayReport(c, "claims", o.Out)
}

// claimsText is the file of a report on claims, as text.
const claimsText = "claims.txt"

const childEnv = "PULLEY_CLAIMS_CHILD"

// fresh returns a function that measures in a new process of this program; nil in such a process.
func (o *ClaimsCmd) fresh(dsn string, c *console.Console) func(context.Context, string) ([]claim.Claim, error) {
	if os.Getenv(childEnv) != "" {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return func(ctx context.Context, experiment string) ([]claim.Claim, error) {
		args := []string{"claims", "--only", experiment, "--format", "json", "--runs", strconv.Itoa(o.Runs)}
		if o.Quick {
			args = append(args, "--quick")
		}
		cmd := exec.CommandContext(ctx, self, args...)
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		cmd.WaitDelay = time.Minute
		cmd.Env = append(os.Environ(), childEnv+"=1", "PULLEY_DSN="+dsn)
		lines := c.Lines()
		defer func() { _ = lines.Close() }()
		cmd.Stderr = lines
		out, err := cmd.Output()
		var report claim.Report
		if failed := json.Unmarshal(out, &report); failed != nil {
			return nil, fmt.Errorf("%s in a process of its own: %w", experiment, errors.Join(err, failed))
		}
		return report.Claims, nil // the claims name what was not measured
	}
}
