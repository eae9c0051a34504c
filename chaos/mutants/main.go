package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"
)

const (
	exitSurvived = 1
	exitMistake  = 2
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

type options struct {
	only   string
	format string
	jobs   int
	sim    int
	start  int
	most   time.Duration
	tier   string
	list   bool
	race   bool
}

func run(args []string, out, problems io.Writer) int {
	o, err := parse(args, problems)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(problems, "mutants:", err)
		return exitMistake
	}
	root, err := moduleRoot()
	if err != nil {
		fmt.Fprintln(problems, "mutants:", err)
		return exitMistake
	}
	chosen, err := choose(table(), root, o.only, o.tier)
	if err != nil {
		fmt.Fprintln(problems, "mutants:", err)
		return exitMistake
	}
	if o.list {
		list(out, chosen)
		return 0
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if o.sim > 0 {
		rows, err := searchAll(ctx, root, chosen, o, problems)
		code, err2 := writeSearches(out, rows, o.format)
		if err := errors.Join(err, err2); err != nil {
			fmt.Fprintln(problems, "mutants:", err)
			return exitMistake
		}
		return code
	}
	done, err := plantAll(ctx, root, chosen, o, problems)
	if err := errors.Join(write(out, done, o.format), err); err != nil {
		fmt.Fprintln(problems, "mutants:", err)
		return exitMistake
	}
	return status(done.Mutants)
}

func parse(args []string, problems io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	flags.SetOutput(problems)
	flags.StringVar(&o.only, "only", "", "a `pattern`: only mutants whose names match")
	flags.StringVar(&o.format, "format", "text", "text or json")
	flags.IntVar(&o.jobs, "jobs", 1, "mutants at once; more than one needs as many processors, since checks have deadlines")
	flags.IntVar(&o.sim, "sim", 0, "instead of the checks, have pulley sim search so many times for each mutant whose code it plays, and tell how many seeds it took")
	flags.StringVar(&o.tier, "tier", "", "test: only mutants that a test finds which runs before each change; night: only those that a chaos case finds")
	flags.DurationVar(&o.most, "for", 0, "a `duration`: what is not done then is left, and the number at which to continue is printed; 0: all is done")
	flags.IntVar(&o.start, "start", 0, "the `number`, from 0, of the chosen mutant to begin with; those before it come behind the last")
	flags.BoolVar(&o.list, "list", false, "list the mutants, their tiers and the commands of their checks, and plant none")
	flags.BoolVar(&o.race, "race", false, "build tests with the race detector")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("it takes no arguments, but %q; name mutants with --only", flags.Args())
	case o.format != "text" && o.format != "json":
		return o, fmt.Errorf("--format is %q; write text or json", o.format)
	case o.sim < 0 || o.sim > 1000:
		return o, fmt.Errorf("--sim is %d; choose from 1 to 1000", o.sim)
	case o.tier != "" && o.tier != tierTest && o.tier != tierNight:
		return o, fmt.Errorf("--tier is %q; write %s or %s", o.tier, tierTest, tierNight)
	case o.start < 0 || o.most < 0:
		return o, errors.New("--start and --for must not be negative")
	case o.jobs < 1 || o.jobs > 64:
		return o, fmt.Errorf("--jobs is %d; choose from 1 to 64", o.jobs)
	}
	return o, nil
}

func moduleRoot() (string, error) {
	text, err := exec.Command("go", "env", "GOMOD").Output()
	file := strings.TrimSpace(string(text))
	if err != nil || file == "" || file == os.DevNull {
		return "", errors.New("this is not inside of the module; run it in the project's folder")
	}
	return filepath.Dir(file), nil
}

func choose(all []mutant, root, only, tier string) ([]mutant, error) {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return nil, fmt.Errorf("--only: %w", err)
	}
	var chosen []mutant
	for _, m := range all {
		if !pattern.MatchString(m.Name) || tier != "" && m.tier() != tier {
			continue
		}
		if err := m.validate(root); err != nil {
			return nil, err
		}
		chosen = append(chosen, m)
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no mutant's name matches %q in this tier; --list has them", only)
	}
	return chosen, nil
}

func each(ctx context.Context, jobs, n int, do func(int)) {
	var wg sync.WaitGroup
	places := make(chan struct{}, jobs)
	for i := 0; i < n && ctx.Err() == nil; i++ {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			do(i)
		})
	}
	wg.Wait()
}

func status(outcomes []outcome) int {
	code := 0
	for _, o := range outcomes {
		switch o.Outcome {
		case broken:
			return exitMistake
		case survived:
			code = exitSurvived
		}
	}
	return code
}

func list(out io.Writer, mutants []mutant) {
	tiers := map[string]int{}
	for _, m := range mutants {
		tiers[m.tier()]++
		fmt.Fprintf(out, "%s (%s, %s)\n    %s\n    %s\n", m.Name, m.Invariant, m.tier(), m.What, m.Check.command())
		if m.Equivalent != "" {
			fmt.Fprintf(out, "    equivalent: %s\n", m.Equivalent)
		}
	}
	fmt.Fprintf(out, "%d mutants: %d are found by tests that run before each change, %d at night\n", len(mutants), tiers[tierTest], tiers[tierNight])
}

func write(out io.Writer, done planting, format string) error {
	outcomes := done.Mutants
	if format == "json" {
		text, err := json.MarshalIndent(done, "", "  ")
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "%s\n", text)
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	counts := map[string]int{}
	fmt.Fprintln(w, "mutant\toutcome\ttier\tby\tcheck\tseconds\tafter\twhat")
	for _, o := range outcomes {
		counts[o.Outcome]++
		after := o.After
		if o.Seed > 1 {
			after += fmt.Sprintf(", %d seeds", o.Seed)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%.1f\t%s\t%s\n", o.Mutant, o.Outcome, o.Tier, o.Invariant, o.By, o.Seconds, after, o.What)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, o := range outcomes {
		if o.Why != "" {
			fmt.Fprintf(out, "\n%s: %s: %s\n", o.Mutant, o.Outcome, o.Why)
		}
	}
	_, err := fmt.Fprintf(out, "\n%d mutants: %d caught, %d survived, %d equivalent, %d broken\n",
		len(outcomes), counts[caught], counts[survived], counts[equivalent], counts[broken])
	if left := done.Of - len(outcomes); err == nil && left > 0 {
		_, err = fmt.Fprintf(out, "%d of %d were left; --start %d continues\n", left, done.Of, done.Next)
	}
	return err
}
