package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"pulley/bench/peers/adapters"
	"pulley/bench/peers/peer"
	"pulley/bench/peers/race"
	"pulley/engine/pgserver"
)

const (
	exitInvalid = 1 // a run was invalid, or the race was interrupted
	exitRefused = 2 // nothing could be run
)

func main() { os.Exit(run(os.Args)) }

type options struct {
	systems, workloads string
	runs, inFlight     int
	runFor, timeout    time.Duration
	dsn, out, readme   string
}

func run(args []string) int {
	cfg, o, err := parse(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		return exitRefused
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	record, err := measure(ctx, cfg, o.dsn)
	if err == nil {
		err = write(record, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		return exitRefused
	}
	if record.Interrupted || !record.Valid() {
		return exitInvalid
	}
	return 0
}

func parse(args []string) (race.Config, options, error) {
	var o options
	f := flag.NewFlagSet(args[0], flag.ExitOnError)
	var otherSystems []string
	for _, a := range adapters.OtherSystems() {
		otherSystems = append(otherSystems, a.Name)
	}
	f.StringVar(&o.systems, "systems", strings.Join(adapters.Default(), ","), "what is raced: pulley's backends with their options, and "+strings.Join(otherSystems, ", "))
	var names []string
	for _, w := range peer.Workloads() {
		names = append(names, w.Name)
	}
	f.StringVar(&o.workloads, "workloads", strings.Join(names, ","), "on what")
	f.IntVar(&o.runs, "runs", 2, "runs of each workload on each system")
	f.IntVar(&o.inFlight, "in-flight", 1000, "instances at once, where a workload is not one at a time")
	f.DurationVar(&o.runFor, "run-for", 2*time.Second, "about how long a run takes, beside starting and stopping the system")
	f.DurationVar(&o.timeout, "timeout", 2*time.Minute, "of one run, which is invalid if it takes longer")
	f.StringVar(&o.dsn, "dsn", "", "a server on which databases may be made (default: PULLEY_DSN, else one is started)")
	f.StringVar(&o.out, "out", "out/peers", "where peers.json and peers.md are written")
	f.StringVar(&o.readme, "write-readme", "", "a page in which the table is put between its two markers")
	if err := f.Parse(args[1:]); err != nil {
		return race.Config{}, o, err
	}
	if f.NArg() > 0 {
		return race.Config{}, o, fmt.Errorf("%q is not a flag; see -help", f.Arg(0))
	}
	cfg := race.Config{
		Runs: o.runs, InFlight: o.inFlight, RunFor: o.runFor, Timeout: o.timeout, Command: args,
		Progress: func(line string) { fmt.Fprintln(os.Stderr, line) },
	}
	var err error
	if cfg.Entries, err = adapters.Parse(strings.Split(o.systems, ",")); err != nil {
		return cfg, o, err
	}
	for name := range strings.SplitSeq(o.workloads, ",") {
		w, err := peer.FindWorkload(strings.TrimSpace(name))
		if err != nil {
			return cfg, o, err
		}
		cfg.Workloads = append(cfg.Workloads, w)
	}
	return cfg, o, nil
}

func measure(ctx context.Context, cfg race.Config, dsn string) (*race.Record, error) {
	server, err := pgserver.Open(ctx, pgserver.Options{DSN: dsn, Log: cfg.Progress, Settings: map[string]string{
		"max_connections": "200", "shared_buffers": "1GB", "max_wal_size": "8GB", "checkpoint_timeout": "15min",
	}})
	if err != nil {
		return nil, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := server.Close(ctx); err != nil {
			cfg.Progress(err.Error())
		}
	}()
	if weak := server.Durability().Weakness(); weak != "" {
		return nil, fmt.Errorf("this server is not durable, so figures of it mean nothing: %s", weak)
	}
	cfg.DSN, cfg.Way = server.DSN(), string(server.Way())
	return race.Run(ctx, cfg)
}

// write writes the record and its text, and prints the text.
func write(r *race.Record, o options) error {
	if err := r.Write(filepath.Join(o.out, "peers.json")); err != nil {
		return err
	}
	text := r.Markdown()
	if err := os.WriteFile(filepath.Join(o.out, "peers.md"), []byte(text), 0o666); err != nil {
		return err
	}
	fmt.Print(text)
	if o.readme == "" {
		return nil
	}
	return r.WriteReadme(o.readme)
}
