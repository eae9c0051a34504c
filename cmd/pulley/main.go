package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"pulley/cmd/pulley/authors"
	"pulley/cmd/pulley/benchmarks"
	"pulley/cmd/pulley/console"
	"pulley/cmd/pulley/reporting"
	"pulley/cmd/pulley/serving"
	"pulley/cmd/pulley/simulate"
	"pulley/cmd/pulley/stored"
	"pulley/internal/cause"
	"pulley/internal/nearest"
	"pulley/scenarios"
)

type cli struct {
	VersionFlag versionFlag `name:"version" help:"Print the version."`
	Quiet       bool        `short:"q" help:"Print the result and errors only."`
	Progress    string      `enum:"auto,plain,none" default:"auto" help:"How far a run is, on standard error: auto, a line that changes where that is a terminal; plain, lines for a log; none. Default: auto."`

	Run       runCmd                `cmd:"" help:"Run one instance of a workflow, and print its result."`
	Work      workCmd               `cmd:"" help:"Run the actions of instances that others submit."`
	Wait      stored.WaitCmd        `cmd:"" help:"Wait for the end of an instance that is in a database, and print its result."`
	Submit    stored.SubmitCmd      `cmd:"" help:"Store an instance, or one for each line of a file, for engines to run."`
	Cancel    stored.CancelCmd      `cmd:"" help:"End an instance that is in a database."`
	Ps        stored.PsCmd          `cmd:"" help:"List the instances that are in a database."`
	Show      stored.ShowCmd        `cmd:"" help:"Show an instance that is in a database, and where it stands in its graph."`
	Why       stored.WhyCmd         `cmd:"" help:"Say what an instance waits for, and since when."`
	Top       stored.TopCmd         `cmd:"" help:"Show what happens in a database, again and again."`
	Retry     stored.RetryCmd       `cmd:"" help:"Submit an instance that failed or was canceled again, from its start."`
	Purge     stored.PurgeCmd       `cmd:"" help:"Delete instances that ended long ago."`
	Schema    stored.SchemaCmd      `cmd:"" help:"Make and upgrade a schema, and print the SQL of roles that use it."`
	Schedule  stored.ScheduleCmd    `cmd:"" help:"Start instances at planned times: add, list, pause and remove schedules, and print their ticks."`
	Signal    stored.SignalCmd      `cmd:"" help:"Send a signal to a running instance, whose workflow waits for it."`
	Limit     stored.LimitCmd       `cmd:"" help:"Bound how many attempts of actions run at once, or start in a period, over all engines: set, list and remove limits."`
	Compare   benchmarks.CompareCmd `cmd:"" help:"Compare schedulers on the same workloads, and write a report."`
	Bench     benchmarks.BenchCmd   `cmd:"" help:"Put a scenario under load that does not wait, and say what its latencies are."`
	Knee      benchmarks.KneeCmd    `cmd:"" help:"Search for the highest rate at which latencies keep an objective."`
	Claims    benchmarks.ClaimsCmd  `cmd:"" help:"Hold published claims about schedulers against measurements."`
	History   benchmarks.HistoryCmd `cmd:"" help:"List what runs measured over time, and between which commits it changed."`
	Gate      benchmarks.GateCmd    `cmd:"" help:"Say whether a candidate is slower or dearer than a baseline: records, Go benchmarks, or revisions."`
	Report    reporting.ReportCmd   `cmd:"" help:"Make a page, text or Markdown of what other commands wrote, also of several records or beside a baseline."`
	Ceiling   benchmarks.CeilingCmd `cmd:"" help:"Measure what raw SQL can do on a server, for what schedulers write."`
	Chaos     chaosCmd              `cmd:"" help:"Run schedulers while things go wrong, and check that nothing is lost."`
	Sim       simulate.Cmd          `cmd:"" help:"Play schedulers in simulated worlds, seed by seed, and check every step."`
	Forecast  simulate.ForecastCmd  `cmd:"" help:"Simulate workers, and say how long it would take."`
	Serve     serving.ServeCmd      `cmd:"" help:"Show records in a browser: a list, the report of each, and runs in progress."`
	List      listCmd               `cmd:"" help:"List what there is: backends, scenarios, faults, bugs or actions."`
	Scenarios scenariosCmd          `cmd:"" help:"Show, check, import and export scenarios."`
	Compile   compileCmd            `cmd:"" help:"Check a workflow, and print it in the workflow language, in its canonical form."`
	Worker    authors.WorkerCmd     `cmd:"" help:"Help the authors of workers: programs in any language that run actions."`
	Adapter   authors.AdapterCmd    `cmd:"" help:"Help the authors of adapters: programs that make other systems comparable."`
	Graph     graphCmd              `cmd:"" help:"Print the graph that a workflow compiles to."`
	Doctor    doctorCmd             `cmd:"" help:"Say which ways to a Postgres there are, and what its durability settings are."`
	Version   versionCmd            `cmd:"" help:"Print the version."`
	Help      helpCmd               `cmd:"" help:"Explain a command."`

	Completion completionCmd `cmd:"" help:"Print what completes commands, flags and names in a shell."`

	ChaosEngine chaosEngineCmd `cmd:"" hidden:"" help:"An engine of pulley chaos, which starts it."`
	ChaosNight  chaosNightCmd  `cmd:"" hidden:"" help:"The part of make nightly that runs schedulers while things go wrong."`
	Complete    completeCmd    `cmd:"" hidden:"" help:"What may stand at the end of a command line, for the scripts of pulley completion."`
}

const description = `pulley shows, with evidence, how durable workflow schedulers on Postgres behave.

Exit status: 0 if it worked; 1 if the instance failed (run) or had ended (cancel), a run was not valid (compare, claims), an objective does not hold (bench, knee), a regression was shown (gate), a figure changed for the worse (history --fail-on-change), an invariant was violated (chaos, sim), a worker or an adapter does something wrong (worker check, adapter check) or no ` +
	`Postgres was found (doctor); 2 for a mistake in the command line, a refused program or input, or an unusable database; ` +
	`3 for a run of bench, knee, gate, chaos or sim that decides nothing, or a history with too few runs (--fail-on-change); 130 after Ctrl-C.`

func main() {
	// A channel, since a started server would inherit Ignore. A closed pipe becomes a write error, and everything is closed in
	// order.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	os.Exit(pulley(os.Args[1:], &console.Console{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}

func pulley(args []string, c *console.Console) (code int) {
	defer c.Clean()
	defer func() {
		if v := recover(); v != nil {
			c.Say("pulley: %v; this is a bug in pulley, please report it (PULLEY_STACK=1 shows where)", v)
			if os.Getenv("PULLEY_STACK") == "1" {
				_, _ = c.Err.Write(debug.Stack())
			}
			code = console.ExitBug
		}
	}()
	parser, commands := newParser(c)
	ctx, err := parser.Parse(args)
	if err != nil {
		return c.Fail(usage(err))
	}
	if err := twice(ctx); err != nil {
		return c.Fail(err)
	}
	c.Quiet, c.ShowProgress = commands.Quiet, commands.Progress
	return c.Fail(named(ctx.Run(parser)))
}

func newParser(c *console.Console) (*kong.Kong, *cli) {
	commands := &cli{}
	parser, err := kong.New(commands, kong.Name("pulley"), kong.Description(description),
		kong.Writers(c.Out, c.Err), kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.Vars{"usual": usualScenarios()}, kong.Bind(c))
	if err != nil {
		panic(err)
	}
	return parser, commands
}

func named(err error) error {
	var unknown *nearest.Unknown
	if !errors.As(err, &unknown) {
		return err
	}
	lists := map[string]string{"backend": "backends", "simulated backend": "backends", "scenario": "scenarios", "fault": "faults", "bug": "bugs"}
	list, has := lists[unknown.Kind]
	if !has {
		return err
	}
	return seeAlso(err, "pulley list "+list)
}

func seeAlso(err error, where string) error {
	if strings.HasSuffix(err.Error(), "?") {
		return fmt.Errorf("%w See %s", err, where)
	}
	return fmt.Errorf("%w; see %s", err, where)
}

func usage(err error) error {
	if errors.Is(err, syscall.EPIPE) { // of --help
		return fmt.Errorf("writing the output: %w", cause.Of(err))
	}
	help := "pulley help"
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context != nil {
		if node := parse.Context.Selected(); node != nil && node.Type == kong.CommandNode {
			help = "pulley help " + strings.TrimPrefix(node.FullPath(), "pulley ")
		}
	}
	return seeAlso(err, help)
}

// twice rejects a duplicate flag, whose first value would be ignored.
func twice(ctx *kong.Context) error {
	seen := map[*kong.Flag]bool{}
	for _, p := range ctx.Path {
		if p.Flag == nil || p.Resolved || p.Flag.IsCumulative() {
			continue
		}
		if seen[p.Flag] {
			return fmt.Errorf("--%s is there twice; write it once", p.Flag.Name)
		}
		seen[p.Flag] = true
	}
	return nil
}

func usualScenarios() string {
	var names []string
	for _, s := range scenarios.All() {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}
