package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/bench/ceiling"
	"pulley/bench/measure"
	"pulley/cmd/pulley/console"
	"pulley/engine/backend/postgres"
	"pulley/engine/pgserver"
	"pulley/internal/live"
	"pulley/internal/plural"
	"pulley/reports"
	"pulley/reports/record"
)

// CeilingCmd is pulley ceiling.
type CeilingCmd struct {
	console.ServerFlags
	Ways        []string      `placeholder:"WAYS" help:"What to measure, joined by commas: statements, call, batched, append, packed, copy. Default: all."`
	Connections []int         `default:"1,2,4,8,16" help:"Sessions at once, from 1 to 64, joined by commas. Default: 1,2,4,8,16."`
	Batches     []int         `default:"100,1000" help:"Completions in a call, where calls have several, from 1 to 10000. Default: 100,1000."`
	Nodes       []int         `name:"nodes-per-instance" placeholder:"N" help:"Measure beside completions only also those of instances of so many node runs, whose own rows are written, too; up to fifteen numbers from 1 to 1000000, joined by commas. Default: none."`
	Duration    time.Duration `default:"3m" placeholder:"TIME" help:"How long the measurement takes in all; each point has its share of it, of which a fifth goes before as warm-up. Default: 3m."`
	Runs        int           `default:"3" help:"Measurements of each point, from 1 to 100. Default: 3."`
	console.FormatFlag
	Out string `placeholder:"DIR" help:"Write ceiling.json and report.html there."`
}

// Help completes the command's help.
func (CeilingCmd) Help() string {
	return "A client without an engine writes completions into the schedulers' own tables, in schemas that are dropped at the end: statements, " +
		"as statements in a transaction; call, in one statement; batched, many in one statement; append, an event for each in one insert that " +
		"an epoch fences; packed, the same with as many events in a row as a page takes; copy, an event for each by COPY. The workload is a fan-out; pulley compare measures with the graphs of its scenarios. With --nodes-per-instance, an instance's own row is inserted and ended once for so many completions, too: in the same " +
		"statement where there are many in one, else by one of its own. The best rate of each is a ceiling for schedulers that write so. Measured as well: how long a commit and a " +
		"single completion take on one idle connection. The method is printed with the figures.\n\n" +
		"Nothing else should be at work on the machine.\n\n" +
		"Exit status: 0 if all was measured; 2 for a mistake in the command line, or a server that cannot be used.\n\n" +
		"Example: pulley ceiling --ways batched,append --duration 30s"
}

// Run measures and prints.
func (o *CeilingCmd) Run(c *console.Console) error {
	if o.Runs < 1 || o.Runs > 100 {
		return fmt.Errorf("--runs %d: choose from 1 to 100", o.Runs)
	}
	cfg := ceiling.Config{DSN: "not known yet", Ways: o.Ways, Connections: o.Connections, Batches: o.Batches, Duration: ceiling.MinDuration, Idle: true, Nodes: append([]int{0}, o.Nodes...)}
	if slices.Contains(o.Nodes, 0) {
		return errors.New("--nodes-per-instance 0: completions only are measured in any case; choose from 1")
	}
	meter, err := ceiling.New(cfg) // before a server is started
	if err != nil {
		return err
	}
	if cfg.Duration, err = o.ofPoint(meter.Points()); err != nil {
		return err
	}
	if err := prepareOut(o.Out, record.CeilingFile, "ceiling"); err != nil {
		return err
	}
	ctx, stop := console.Interruptible()
	defer stop()
	server, closing, err := o.Serve(ctx, c)
	if err != nil {
		return err
	}
	defer closing()
	c.Say("%s of %s each, in about %s", plural.Of(o.Runs*meter.Points(), "measurement"), cfg.Duration.Round(time.Millisecond), o.Duration)
	report, err := o.measure(ctx, c, cfg, server)
	if err != nil {
		return console.Ended(ctx, err)
	}
	return o.print(c, report)
}

func (o *CeilingCmd) ofPoint(points int) (time.Duration, error) {
	shares := time.Duration(points*o.Runs) * 5 / 4 // with the warm-up
	if least := shares * ceiling.MinDuration; o.Duration < least {
		return 0, fmt.Errorf("--duration %s: %d points take %s at least; choose a longer time, or fewer --ways, --connections or --runs", o.Duration, points, least)
	}
	return min(o.Duration/shares, ceiling.MaxDuration), nil
}

func (o *CeilingCmd) measure(ctx context.Context, c *console.Console, cfg ceiling.Config, server *pgserver.Server) (report *record.CeilingReport, err error) {
	report = &record.CeilingReport{
		Command: measure.Command(os.Args), Tool: measure.Tool("pulley"), Host: measure.Host(), StartedAt: time.Now(), Methods: ceiling.Methods(cfg),
	}
	if report.Postgres, err = settings(ctx, server); err != nil {
		return nil, err
	}
	round := 0
	run, end := c.Follow("ceiling", o.Out)
	defer func() { end(err) }()
	cfg.DSN = server.DSN()
	cfg.Progress = func(done, total int, point string) {
		run.Step(live.Step{What: point, Done: float64(round*total + done), Total: float64(o.Runs * total), Unit: "points"})
	}
	meter, err := ceiling.New(cfg)
	if err != nil {
		return nil, err
	}
	for ; round < o.Runs && err == nil; round++ {
		run.Note("measurement %d of %d", round+1, o.Runs)
		err = meter.Round(ctx)
	}
	report.EndedAt, report.Ceilings = time.Now(), meter.Result()
	return report, err
}

func settings(ctx context.Context, server *pgserver.Server) (*record.Postgres, error) {
	conn, err := pgx.Connect(ctx, server.DSN())
	if err != nil {
		return nil, postgres.Explain(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	found, err := measure.Server(ctx, conn, server.Describe())
	return found, postgres.Explain(err)
}

func (o *CeilingCmd) print(c *console.Console, report *record.CeilingReport) error {
	write := reports.WriteCeilings
	if o.Format == "json" {
		write = record.EncodeCeilings
	}
	if err := c.Show(func(w io.Writer) error { return write(w, report) }); err != nil || o.Out == "" {
		return err
	}
	err := record.WriteFile(filepath.Join(o.Out, record.CeilingFile), func(w io.Writer) error { return record.EncodeCeilings(w, report) })
	if err != nil {
		return err
	}
	return sayReport(c, "ceiling", o.Out)
}
