package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"pulley/cmd/pulley/console"
	"pulley/engine/backend/designs"
	"pulley/internal/pgtest"
)

// pauses sleeps in two of its branches, and names things as an attacker would.
const pauses = "fn main(input: [xs, text], output: [all]):\n    all = spread xs:x -> rest(x=x)\n    return all\nfn rest(input: [x], output: [y]):\n    sleep x\n    y = @echo(value=x)\n    return y\n"

func TestLookInside(t *testing.T) {
	t.Parallel()
	prog := file(t, "pauses.ir", pauses)
	for _, design := range designs.Durable() {
		t.Run(design.String(), func(t *testing.T) {
			t.Parallel()
			where := []string{"--backend", design.String(), "--dsn", pgtest.DSN(t), "--schema", pgtest.Schema(t)}
			do := func(args ...string) result {
				t.Helper()
				return call(t, nil, append(args, where...)...)
			}
			id := strings.TrimSpace(do("submit", prog, "--input", `{"xs": [0, 0, 3600, 3600], "text": "\u001b[2Jover`+"\u009b31m\u202e"+`"}`).out)
			// The engine has given the journal's shard back: only another could tell.
			want := map[bool]string{false: "It sleeps at sleep[2] until ", true: "It waits for an engine to take its shard, which nobody owns."}[design.Name() == "journal"]
			if got := do("work", "--idle-exit", "300ms"); got.code != 0 {
				t.Fatalf("work: %+v", got)
			}
			why := do("why", id)
			if why.code != 0 || why.err != "" || strings.Count(why.out, "\n") != 1 || strings.ContainsAny(why.out, "\x1b\u009b") {
				t.Errorf("why: %+v", why)
			}
			var explained struct {
				ID, Status, Sentence string
				Waits                []struct{ Reason, Node string }
			}
			if err := json.Unmarshal([]byte(do("why", id, "--format", "json").out), &explained); err != nil || explained.ID != id || explained.Sentence+"\n" != why.out {
				t.Errorf("why: %v %+v", err, explained)
			}
			if !strings.HasPrefix(why.out, want) {
				t.Errorf("why: %s", why.out)
			}
			show := do("show", id)
			if show.code != 0 || strings.ContainsAny(show.out, "\x1b\u009b\u202e") {
				t.Errorf("show: %+v", show)
			}
			wantParts(t, show.out, "instance   "+id, "workflow   "+prog, "status     running, after ", "input      {\"xs\": [0, 0, 3600, 3600]", "why        "+want, "graph "+prog+": ")
			if design.Name() != "journal" {
				wantParts(t, show.out, "(required: number of elements, line 2)  ◀ 2 of 4 arrived", "NODE RUN", "sleep[2]", "sleep[3]")
			}
			if got := do("show", id, "--format", "json"); strings.ContainsAny(got.out, "\x1b\u009b\u202e") || !strings.Contains(got.out, `over\u009b31m\u202e"`) {
				t.Errorf("show: %q", got.out)
			}
			var shown struct {
				ID, Workflow, Status string
				Input                json.RawMessage
				Nodes                []struct {
					Name             string
					Done             *int
					Running, Waiting int
				}
			}
			if err := json.Unmarshal([]byte(do("show", id, "--format", "json").out), &shown); err != nil || shown.ID != id || len(shown.Nodes) == 0 || len(shown.Input) == 0 {
				t.Errorf("show: %v %+v", err, shown)
			}
			history := do("show", id, "--past")
			if strings.HasPrefix(design.Name(), "pull") {
				wantParts(t, history.out, "ENDED", "echo[0]", "1        0\n")
			} else {
				wantLine(t, history.err, "pulley: backend "+design.String()+" does not keep node runs that have ended")
			}
			ps := do("ps", "--status", "running", "--workflow", "pauses.ir")
			if ps.code != 0 || ps.err != "" || !regexp.MustCompile(id+` +running +\S*/pauses\.ir `).MatchString(ps.out) {
				t.Errorf("ps: %+v", ps)
			}
			if got := do("ps", "--status", "failed", "--format", "json"); got.out != "{\n  \"instances\": [],\n  \"next\": null\n}\n" {
				t.Errorf("ps: %+v", got)
			}
			retry := do("retry", id, "--from-start")
			wantLine(t, retry.err, "instance "+id+" is running; only one that failed or was canceled is submitted again")
			if got := do("cancel", id, "--reason", "\x1b[31menough"); got.code != 0 {
				t.Fatalf("cancel: %+v", got)
			}
			if got := do("why", id); !strings.HasPrefix(got.out, "It waits for nothing: it was canceled at ") || !strings.HasSuffix(got.out, ", with Canceled: [31menough.\n") {
				t.Errorf("why: %q", got.out)
			}
			wantLine(t, do("show", id, "--past").err, "instance "+id+" has ended: no design keeps its node runs")
			retry = do("retry", id)
			if retry.code != console.ExitUsage {
				t.Errorf("retry: %+v", retry)
			}
			wantLine(t, retry.err, "pulley: backend "+design.String()+" keeps nothing of the node runs of instance "+id+", which canceled")
			again := do("retry", id, "--from-start")
			if twice := do("retry", id, "--from-start"); again.code != 0 || again.out != twice.out || again.out == id+"\n" {
				t.Errorf("retry: %+v and %+v", again, twice)
			}
			if got := do("purge", "--older", "1h"); got != (result{out: "0 instances deleted: 0 completed, 0 failed, 0 canceled\n"}) {
				t.Errorf("purge: %+v", got)
			}
		})
	}
}

func TestPsPages(t *testing.T) {
	t.Parallel()
	where := []string{"--dsn", pgtest.DSN(t), "--schema", pgtest.Schema(t)}
	lines := strings.Repeat("{\"n\":1}\n", 5)
	submitted := call(t, strings.NewReader(lines), append([]string{"submit", file(t, "p.ir", echoes), "--batch", "-"}, where...)...)
	var got []string
	after := ""
	for range 10 {
		args := append([]string{"ps", "--count", "2", "--workflow", "p.ir", "--younger", "1h"}, where...)
		if after != "" {
			args = append(args, "--after", after)
		}
		page := call(t, nil, args...)
		for _, line := range strings.Split(strings.TrimSpace(page.out), "\n")[1:] {
			got = append(got, strings.Fields(line)[0])
		}
		_, next, more := strings.Cut(page.err, "pulley: there may be more: --after ")
		if after = strings.TrimSpace(next); !more {
			break
		}
	}
	if want := strings.Fields(submitted.out); len(got) != 5 || !sameSet(got, want) {
		t.Errorf("pages: %v, want %v", got, want)
	}
}

func TestLookRefusals(t *testing.T) {
	t.Parallel()
	dsn, schema := pgtest.DSN(t), pgtest.Schema(t)
	there := []string{"--dsn", dsn, "--schema", schema}
	id := uuid.NewString()
	if got := call(t, nil, append([]string{"submit", file(t, "p.ir", echoes), "--input", `{"n": 1}`}, there...)...); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	nowhere := []string{"--dsn", dsn, "--schema", schema + "_x"}
	for _, c := range []struct {
		args  []string
		parts []string
	}{
		{append([]string{"why", id}, there...), []string{"there is no instance " + id + " in schema " + schema}},
		{append([]string{"show", id}, there...), []string{"there is no instance " + id + " in schema " + schema}},
		{append([]string{"why", id}, nowhere...), []string{"there is no instance " + id + " in schema " + schema + "_x"}},
		{append([]string{"ps"}, nowhere...), []string{"schema " + schema + "_x: there is no such schema"}},
		{append([]string{"purge", "--older", "1h"}, nowhere...), []string{"there is no such schema"}},
		{append([]string{"purge", "--older", "1s"}, there...), []string{"--older 1s: choose 1m or more"}},
		{append([]string{"ps", "--count", "0"}, there...), []string{"--count 0: choose from 1 to 1000"}},
		{append([]string{"ps", "--after", "x"}, there...), []string{`--after: id "x": this is not a UUID`}},
		{[]string{"ps", "--backend", "memory"}, []string{"backend memory keeps nothing for another command"}},
		{[]string{"why", id}, []string{"say which database holds the instance"}},
		{append([]string{"why", "x"}, there...), []string{`"x" is neither an instance's id, such as `, "nor a schedule or a limit of schema " + schema}},
		{[]string{"purge"}, []string{"missing flags: --older=TIME"}},
	} {
		got := call(t, nil, c.args...)
		if got.code != console.ExitUsage || got.out != "" {
			t.Errorf("%v: %+v", c.args, got)
		}
		wantLine(t, got.err, c.parts...)
	}
}

func sameSet(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}
