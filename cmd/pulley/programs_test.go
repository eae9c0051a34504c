package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"pulley/bench"
	"pulley/engine/pgserver/pgtest"
	"pulley/scenarios"
)

// TestProgramsOnEveryBackend runs every program that comes with pulley on every backend, as a user does:
// the output is the same, byte for byte, and what the program itself says that it gives.
func TestProgramsOnEveryBackend(t *testing.T) {
	list, err := scenarios.Programs()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 45 {
		t.Fatalf("%d programs were found", len(list))
	}
	for _, design := range bench.Designs() {
		t.Run(design.String(), func(t *testing.T) {
			t.Parallel()
			args := []string{"--format", "json", "--backend", design.String()}
			if design.NeedsPostgres() { // with few connections, since each run makes its own
				args[len(args)-1] += ":connections=2"
				args = append(args, "--dsn", pgtest.DSN(t), "--schema", pgtest.Schema(t))
			}
			for _, p := range list {
				for _, r := range p.Runs {
					checkProgram(t, p, r, args)
				}
			}
		})
	}
}

// checkProgram runs a program in this process, since there are hundreds of runs.
func checkProgram(t *testing.T, p scenarios.Program, r scenarios.ProgramRun, args []string) {
	t.Helper()
	path := filepath.Join(root, "scenarios", "programs", p.Name+".ir")
	var out, stderr bytes.Buffer
	code := pulley(append([]string{"run", path, "--input", string(r.Input)}, args...), &console{in: strings.NewReader(""), out: &out, err: &stderr})
	wantCode, want := wantedOutput(t, path, r)
	if code != wantCode || out.String() != want || stderr.Len() > 0 {
		t.Errorf("%s with %s: exit status %d, output %s, errors %q; want status %d, output %s", p.Name, r.Input, code, out.String(), stderr.String(), wantCode, want)
	}
}

// wantedOutput gives the status and the line in which a run must end.
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
		return exitFailed, fmt.Sprintf(`{"status":"failed","result":null,"error":{"type":%s,"message":%s,"action":%s,"position":%s}}`+"\n",
			text(f.Type), text(f.Message), text(f.Action), text(path+":"+f.Position))
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, r.Gives); err != nil {
		t.Fatal(err)
	}
	return 0, fmt.Sprintf(`{"status":"completed","result":%s,"error":null}`+"\n", compact.String())
}
