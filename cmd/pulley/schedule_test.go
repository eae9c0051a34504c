package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/cmd/pulley/console"
	"pulley/internal/depth"
	"pulley/internal/pause"
	"pulley/internal/pgtest"
)

func TestScheduleNext(t *testing.T) {
	t.Parallel()
	got := call(t, nil, "schedule", "next", "--cron", "30 2 * * *", "--zone", "Europe/Berlin", "--from", "2026-03-28T00:00:00Z", "--count", "3")
	const want = "  Sat 2026-03-28 02:30:00 CET   2026-03-28 01:30:00 UTC\n" +
		"  Sun 2026-03-29 03:30:00 CEST  2026-03-29 01:30:00 UTC\n" +
		"  Mon 2026-03-30 02:30:00 CEST  2026-03-30 00:30:00 UTC\n"
	if got.code != 0 || got.out != want || got.err != "" {
		t.Errorf("%+v", got)
	}
	got = call(t, nil, "schedule", "next", "--every", "1.5s", "--from", "2026-03-28T00:00:00Z", "--count", "1", "--format", "json")
	var ticks []struct {
		Local    string
		UTC, Due time.Time
	}
	if err := json.Unmarshal([]byte(got.out), &ticks); err != nil || len(ticks) != 1 || ticks[0].Local != "2026-03-28T00:00:01.5Z" || !ticks[0].Due.Equal(ticks[0].UTC) {
		t.Errorf("%v: %+v", err, got)
	}
}

func TestScheduleMistakes(t *testing.T) {
	t.Parallel()
	good := file(t, "p.ir", "fn main(input: [n], output: [x]):\n    x = n\n")
	dsn, schema := pgtest.DSN(t), pgtest.Schema(t)
	add := func(args ...string) []string {
		return append([]string{"add", "s", good, "--input", `{"n": 1}`, "--dsn", dsn, "--schema", schema}, args...)
	}
	for want, args := range map[string][]string{
		`cron "0 0 30 2 *": it never fires, no date has that day and month; change them`:            add("--cron", "0 0 30 2 *"),
		`cron "0 0 * *": expected 5 to 6 fields, found 4`:                                           add("--cron", "0 0 * *"),
		`cron "CRON_TZ=Europe/Berlin 0 0 * * *": the zone does not belong in it`:                    add("--cron", "CRON_TZ=Europe/Berlin 0 0 * * *"),
		`zone "Europe/Berln": there is no such time zone; give an IANA name, such as Europe/Berlin`: add("--cron", "0 0 * * *", "--zone", "Europe/Berln"),
		"when is missing; give --cron EXPRESSION or --every TIME":                                   add(),
		"--cron and --every: choose one":                                                            add("--cron", "0 0 * * *", "--every", "1m"),
		"the interval is 1ms; choose one from 100ms to ":                                            add("--every", "1ms"),
		`there is no policy for overlaps "skp", did you mean "skip"?`:                               add("--every", "1m", "--overlap", "skp"),
		`there is no policy for missed ticks "every"; there are last, none, all`:                    add("--every", "1m", "--catch-up", "every"),
		"--queue-max, --catch-up-max and --grace: choose 1 or more":                                 add("--every", "1m", "--queue-max", "0"),
		"nobody.ir: no such file or directory; name a file that can be read":                        {"add", "s", "nobody.ir", "--every", "1m"},
		`--input: "n" is missing; the workflow takes n`:                                             {"add", "s", good, "--every", "1m"},
		"say which database holds the instance: give --dsn DSN":                                     {"add", "s", good, "--every", "1m", "--input", `{"n": 1}`},
		"backend memory keeps nothing for another command":                                          add("--every", "1m", "--backend", "memory"),
		`schedule "a\tb": choose a name of 1 to 200 bytes`:                                          {"add", "a\tb", good, "--every", "1m"},
		"there is no schema nobody_was_here; --schema and --backend say where to look":              {"list", "--dsn", dsn, "--schema", "nobody_was_here"},
		"when is missing; give --cron EXPRESSION or --every TIME, or the name of a schedule":        {"next"},
		"--count 0: choose from 1 to 1000":                                                          {"next", "--every", "1m", "--count", "0"},
		"--from yesterday: this is not a time such as 2026-03-28T00:00:00Z":                         {"next", "--every", "1m", "--from", "yesterday"},
		"--cron and --every are for ticks without a schedule; leave them or s out":                  {"next", "s", "--every", "1m"},
	} {
		got := call(t, nil, append([]string{"schedule"}, args...)...)
		if got.code != console.ExitUsage || got.out != "" {
			t.Errorf("%v: %+v", args, got)
		}
		wantLine(t, got.err, want)
	}
}

// shownSchedule is part of the JSON of a schedule.
type shownSchedule struct {
	Name     string
	Paused   bool
	Next     *time.Time
	EveryS   float64 `json:"every_s"`
	Fired    int64
	Overlap  string
	CatchUp  string `json:"catch_up"`
	Instance *uuid.UUID
}

// A schedule is stored, fires in pulley work, is paused, resumed and removed.
func TestScheduleFires(t *testing.T) {
	t.Parallel()
	prog := file(t, "p.ir", "fn main(input: [n], output: [x]):\n    x = n + 1\n")
	where := []string{"--dsn", pgtest.DSN(t), "--schema", pgtest.SchemaOf(t, "push"), "--format", "json"}
	ask := func(args ...string) result {
		return call(t, nil, append(append([]string{"schedule"}, args...), where...)...)
	}
	one := func(got result) (d shownSchedule) {
		t.Helper()
		if err := json.Unmarshal([]byte(got.out), &d); err != nil || got.code != 0 {
			t.Fatalf("%v: %+v", err, got)
		}
		return d
	}
	if d := one(ask("add", "often", prog, "--every", "200ms", "--input", `{"n": 41}`, "--paused")); !d.Paused || d.Next != nil || d.EveryS != 0.2 || d.Fired != 0 || d.Overlap != "skip" || d.CatchUp != "last" {
		t.Errorf("stored: %+v", d)
	}
	one(ask("add", "nightly", prog, "--cron", "30 2 * * *", "--zone", "Europe/Berlin", "--input", `{"n": 1}`, "--overlap", "queue"))
	again := ask("add", "often", prog, "--every", "1m", "--input", `{"n": 41}`)
	wantLine(t, again.err, `there is a schedule "often" in schema `, "already; choose another name, or remove it with pulley schedule rm often")
	wantLine(t, ask("show", "oftn").err, `there is no schedule "oftn", did you mean "often"?`)

	if d := one(ask("resume", "often")); d.Paused || d.Next == nil {
		t.Errorf("resumed: %+v", d)
	}
	if got := call(t, nil, append([]string{"why", "nightly"}, where[:4]...)...); !strings.HasPrefix(got.out, "Schedule nightly waits for its tick of 20") {
		t.Errorf("%+v", got)
	}
	cmd := raceCommand(t, "work", "--dsn", where[1], "--schema", where[3], "--idle-exit", "5s")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := depth.Within(t.Context(), t, deadline)
	defer cancel()
	var d shownSchedule
	for range pause.Tries(ctx, 50*time.Millisecond) {
		if d = one(ask("show", "often")); d.Fired >= 3 {
			break
		}
	}
	if d = one(ask("pause", "often")); !d.Paused || d.Fired < 3 || d.Instance == nil {
		t.Fatalf("paused: %+v", d)
	}
	if got := call(t, nil, append([]string{"why", "often"}, where...)...); !strings.Contains(got.out, `"reason": "paused"`) {
		t.Errorf("%+v", got)
	}
	if err := cmd.Wait(); err != nil { // it is idle now
		t.Errorf("pulley work: %v", err)
	}
	if got := call(t, nil, append([]string{"wait", d.Instance.String()}, where...)...); got.code != 0 || !strings.Contains(got.out, `"result":42`) {
		t.Errorf("the last instance: %+v", got)
	}
	var all []shownSchedule
	if got := ask("list"); json.Unmarshal([]byte(got.out), &all) != nil || len(all) != 2 || all[0].Name != "nightly" || all[1].Fired != d.Fired {
		t.Errorf("%+v", got)
	}
	text := call(t, nil, append([]string{"schedule", "show", "nightly"}, where[:4]...)...)
	wantParts(t, text.out, "nightly, ", "p.ir", `{"n": 1}`, "30 2 * * * Europe/Berlin", "queue, 100 ticks at most", "last; missed after 1m0s", "(20", "0; 0 skipped, 0 refused")
	wantParts(t, call(t, nil, append([]string{"schedule", "list"}, where[:4]...)...).out, "name", "nightly", "often", "every 200ms", "paused")
	if got := ask("next", "nightly", "--from", "2026-03-28T12:00:00Z", "--count", "1"); !strings.Contains(got.out, `"local": "2026-03-29T03:30:00+02:00"`) {
		t.Errorf("%+v", got)
	}
	one(ask("rm", "often"))
	if got := ask("rm", "often"); got.code != console.ExitUsage || !strings.Contains(got.err, `there is no schedule "often"; there are nightly`) {
		t.Errorf("removed twice: %+v", got)
	}
}
