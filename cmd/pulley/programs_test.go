package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"pulley/cmd/pulley/console"
	"pulley/engine/backend/designs"
	"pulley/internal/depth"
	"pulley/internal/pgtest"
	"pulley/scenarios"
)

// TestProgramsOnEveryBackend expects each program that ships to give, byte for byte, the output that its text promises. All
// runs are without a database. The first run of each program is also on one of the designs on Postgres, in turn; at night all
// are on all.
func TestProgramsOnEveryBackend(t *testing.T) {
	t.Parallel()
	list, err := scenarios.Programs()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 45 {
		t.Fatalf("%d programs were found", len(list))
	}
	durable := designs.Durable()
	for _, design := range designs.All() {
		t.Run(design.String(), func(t *testing.T) {
			t.Parallel()
			cmd := runCmd{actionsLimits: actionsLimits{MaxDeliveries: 5}, Workers: 64}
			cmd.Backend, cmd.Timeout, cmd.Format = design.String(), deadline, "json"
			if design.NeedsPostgres() { // with few connections, since each run makes its own
				cmd.Backend += ":connections=2"
				cmd.DSN, cmd.Schema = pgtest.DSN(t), pgtest.SchemaOf(t, design.String())
			}
			for i, p := range list {
				turn := durable[i%len(durable)].String() == design.String()
				for j, r := range p.Runs {
					if !design.NeedsPostgres() || depth.Night() || turn && j == 0 {
						checkProgram(t, p, r, cmd)
					}
				}
			}
		})
	}
}

// checkProgram skips the command line's parser, which takes longer than most runs.
func checkProgram(t *testing.T, p scenarios.Program, r scenarios.ProgramRun, cmd runCmd) {
	t.Helper()
	path := filepath.Join(root, "scenarios", "programs", p.Name+".ir")
	input := string(r.Input)
	cmd.File, cmd.Input = path, &input
	var out, stderr bytes.Buffer
	c := &console.Console{In: strings.NewReader(""), Out: &out, Err: &stderr}
	got := result{code: c.Fail(cmd.Run(c)), out: out.String(), err: stderr.String()}
	code, want := wantedOutput(t, path, r)
	if got != (result{code: code, out: want}) {
		t.Errorf("%s with %s: %+v; want status %d, output %s", p.Name, r.Input, got, code, want)
	}
}

func wantedOutput(t *testing.T, path string, r scenarios.ProgramRun) (code int, line string) {
	t.Helper()
	if f := r.Fails; f != nil {
		text := func(v string) string {
			var b bytes.Buffer
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false)
			if err := e.Encode(v); err != nil {
				t.Fatal(err)
			}
			return strings.TrimSpace(b.String())
		}
		return console.ExitFailed, fmt.Sprintf(`{"status":"failed","result":null,"error":{"type":%s,"message":%s,"action":%s,"position":%s}}`+"\n",
			text(f.Type), text(f.Message), text(f.Action), text(path+":"+f.Position))
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, r.Gives); err != nil {
		t.Fatal(err)
	}
	return 0, fmt.Sprintf(`{"status":"completed","result":%s,"error":null}`+"\n", compact.String())
}
