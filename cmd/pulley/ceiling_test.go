package main

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"pulley/cmd/pulley/console"
	"pulley/internal/depth"
	"pulley/internal/pgtest"
	"pulley/reports/record"
)

// scratchDatabase creates a database, so that a schema left there can only come from the command.
func scratchDatabase(t *testing.T) (dsn string, schemas func() []string) {
	t.Helper()
	admin, err := pgx.Connect(t.Context(), pgtest.DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	name := pgtest.Schema(t)
	if _, err := admin.Exec(t.Context(), "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, err := admin.Exec(context.Background(), "DROP DATABASE "+pgx.Identifier{name}.Sanitize()+" WITH (FORCE)")
		if err != nil {
			t.Error(err)
		}
		_ = admin.Close(context.Background())
	})
	cfg := admin.Config()
	dsn = "host=" + cfg.Host + " user=" + cfg.User + " password='" + cfg.Password + "' dbname=" + name + " port=" + portText(cfg.Port)
	return dsn, func() []string {
		conn, err := pgx.Connect(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close(context.Background()) }()
		rows, err := conn.Query(t.Context(), "SELECT nspname::text FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname NOT IN ('public', 'information_schema')")
		if err != nil {
			t.Fatal(err)
		}
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
}

func portText(port uint16) string {
	text, _ := json.Marshal(port)
	return string(text)
}

func TestCeiling(t *testing.T) {
	t.Parallel()
	dsn, schemas := scratchDatabase(t)
	args := []string{"ceiling", "--dsn", dsn, "--duration", "500ms", "--batches", "10"}
	out := t.TempDir()
	got := runForRaces(t, append(args, "--out", out, "--runs", depth.Of("1", "2"), "--connections", depth.Of("1", "1,2"), "--format", "json")...)
	if got.code != 0 {
		t.Fatalf("%+v", got)
	}
	wantRecord(t, out, "ceiling.json", got.out)
	var report record.CeilingReport
	d := json.NewDecoder(strings.NewReader(got.out))
	d.DisallowUnknownFields()
	if err := d.Decode(&report); err != nil {
		t.Fatal(err)
	}
	if err := report.Ceilings.Validate(); err != nil || len(report.Ceilings.Rates) != 6 || len(report.Ceilings.Idle) != 4 || report.Postgres == nil || len(report.Methods) != 2 {
		t.Errorf("%v, %+v", err, report)
	}
	if strings.Contains(got.out, "password=''") {
		t.Error("the command line is written down with its password")
	}
	got = call(t, nil, append(args, "--runs", "1", "--connections", "1", "--ways", "append", "--nodes-per-instance", "7")...)
	if got.code != 0 {
		t.Fatalf("%+v", got)
	}
	wantParts(t, got.out, "connections  instances of\n", "With instances of 7 node runs")
	if n := strings.Count(got.out, "\n  append   an event each, many in one fenced insert "); n != 2 { // completions only, and those of 7
		t.Errorf("%d lines of append:\n%s", n, got.out)
	}
	got = call(t, nil, append(args, "--runs", "2", "--connections", "1,2", "--ways", "batched")...)
	if got.code != 0 {
		t.Fatalf("%+v", got)
	}
	wantParts(t, got.out, "What raw SQL does on this server", "Postgres", "2 measurements of ", " a point", "\n  batched  one statement for many", "1 connection  2 connections", "\n  commit ", "Method, over ", "10 completions")
	if strings.Contains(got.out, "\n  append   an event each") {
		t.Error("more is measured than was asked for")
	}
	wantParts(t, got.err, "using ", "measurement 1 of 2\n", "measurement 2 of 2\n")
	if names := schemas(); len(names) > 0 {
		t.Errorf("schemas are left: %q", names)
	}
}

func TestCeilingRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args  []string
		parts []string
	}{
		{[]string{"--duration", "0"}, []string{"--duration"}},
		{[]string{"--duration", "0s"}, []string{"--duration 0s: ", " points take ", " at least"}},
		{[]string{"--duration=-1s"}, []string{"--duration -1s: ", " points take "}},
		{[]string{"--runs", "0"}, []string{"--runs 0: choose from 1 to 100"}},
		{[]string{"--connections", "0"}, []string{"0 connections: choose from 1 to 64"}},
		{[]string{"--connections", "1,1"}, []string{"each number once"}},
		{[]string{"--batches", "many"}, []string{"--batches", "many"}},
		{[]string{"--batches", "20000"}, []string{"a batch of 20000: choose from 1 to 10000"}},
		{[]string{"--ways", "fast"}, []string{`way "fast" is unknown`, "statements, call, batched, append, packed, copy"}},
		{[]string{"--nodes-per-instance", "0"}, []string{"--nodes-per-instance 0: completions only are measured in any case"}},
		{[]string{"--nodes-per-instance", "5,5"}, []string{"5 nodes per instance", "each number once"}},
		{[]string{"--format", "xml"}, []string{"--format must be one of"}},
		{[]string{"more"}, []string{"unexpected argument more"}},
		{[]string{"--dsn", "postgres://nobody@127.0.0.1:1/none?connect_timeout=1"}, []string{"pulley: "}},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			t.Parallel()
			got := call(t, nil, append([]string{"ceiling"}, c.args...)...)
			if got.code != console.ExitUsage || got.out != "" {
				t.Errorf("%+v", got)
			}
			wantLine(t, got.err, c.parts...)
		})
	}
}

func TestCeilingInterrupted(t *testing.T) {
	t.Parallel()
	dsn, schemas := scratchDatabase(t)
	var out, stderr bytes.Buffer
	cmd := command(t, "ceiling", "--dsn", dsn, "--duration", "1h", "--connections", "2")
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	for writing := false; !writing; {
		if err := conn.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%DELETE FROM queue%' AND pid <> pg_backend_pid())").Scan(&writing); err != nil {
			t.Fatal(err)
		}
	}
	_ = conn.Close(t.Context())
	if len(schemas()) == 0 {
		t.Error("there is no schema while it measures: this test sees nothing")
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := exitStatus(t, cmd.Wait()); code != 130 || out.Len() > 0 {
		t.Errorf("exit status %d, output %q", code, out.String())
	}
	wantParts(t, stderr.String(), "pulley: interrupted\n")
	if names := schemas(); len(names) > 0 {
		t.Errorf("schemas are left: %q", names)
	}
}

func TestCompareHasCeilings(t *testing.T) {
	t.Parallel()
	dsn, schemas := scratchDatabase(t)
	for _, c := range []struct {
		flag  string
		there bool
	}{{"--ceiling-duration=10ms", true}, {"--no-ceiling", false}} {
		dir := t.TempDir()
		got := call(t, nil, "compare", "chain=3", "--backends", "push,memory", "--runs", "1", "--min-nodes", "3", "--load", "saturated",
			"--ceiling-connections", depth.Of("1", "1,2,4,8,16"), "--dsn", dsn, "--out", dir, c.flag)
		if got.code != 0 {
			t.Fatalf("%s: %+v", c.flag, got)
		}
		s, err := record.ReadSummary(filepath.Join(dir, record.SummaryFile))
		if err != nil {
			t.Fatal(err)
		}
		row := s.Find(record.Key{Scenario: "chain", Backend: "push", Size: 3, Mode: record.ModeSaturated})
		if (s.Ceilings != nil) != c.there || (row.CeilingFraction != nil) != c.there || row.Ceiling != record.CeilingBatched {
			t.Errorf("%s: ceilings %+v, fraction %v of %q", c.flag, s.Ceilings, row.CeilingFraction, row.Ceiling)
		}
		if said := slices.Contains(row.Warnings, "ceiling_fraction is null: the ceiling was not measured"); said == c.there {
			t.Errorf("%s: warnings %q", c.flag, row.Warnings)
		}
		if strings.Contains(got.out, "/ceiling = part of what raw SQL did") != c.there || strings.Contains(got.out, "transaction of four statements") != c.there {
			t.Errorf("%s: output %s", c.flag, got.out)
		}
	}
	if names := schemas(); len(names) > 0 {
		t.Errorf("schemas are left: %q", names)
	}
	got := call(t, nil, "compare", "chain", "--ceiling-duration", "1ms", "--out", t.TempDir())
	if got.code != console.ExitUsage {
		t.Errorf("%+v", got)
	}
	wantLine(t, got.err, "--ceiling-duration 1ms: choose from 10ms to 1m, or --no-ceiling")
}
