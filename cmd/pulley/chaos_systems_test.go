package main

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pulley/cmd/pulley/console"
)

const referenceAdapter = "exec:python3 ../../examples/adapters/queue.py"

// The reference adapter keeps its promises, its files are written, and its case can be run again.
func TestChaosOfSystems(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	args := []string{"chaos", "chain", "diamond=4", "--systems", referenceAdapter, "--setting", "lease_ms=1000", "--faults", "process.kill,wire.cut", "--duration", "1s", "--workers", "2", "--in-flight", "2", "--out", out}
	got := run(t, args...)
	if got.code != 0 {
		t.Fatalf("%+v", got)
	}
	wantParts(t, got.out, "keeps: a table with SKIP LOCKED", "It keeps its promises.", "again: pulley chaos --replay "+filepath.Join(out, "case.json"), "at-least-once, durable, results once  keeps")
	for _, name := range []string{"case.json", "result.json", "history.ndjson"} {
		if info, err := os.Stat(filepath.Join(out, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	got = run(t, "chaos", "--replay", filepath.Join(out, "case.json"), "--format", "json", "--out", t.TempDir())
	var found []struct {
		First struct {
			Verdict struct{ Result string }
			Case    struct{ Settings map[string]string }
		}
	}
	if err := json.Unmarshal([]byte(got.out), &found); err != nil || len(found) != 1 || found[0].First.Verdict.Result != "keeps" || found[0].First.Case.Settings["lease_ms"] != "1000" {
		t.Errorf("%v: %+v", err, got)
	}
}

// A signal while smaller cases are run ends the command, which writes what it has found, and says so.
func TestChaosOfSystemsIsInterrupted(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	adapter, err := filepath.Abs("../../bench/systems/testdata/memory.py")
	if err != nil {
		t.Fatal(err)
	}
	cmd := raceCommand(t, "chaos", "chain=2", "--systems", "exec:python3 "+adapter, "--setting", "fault=sum", "--setting", "pause_ms=20", "--engines", "1", "--in-flight", "2",
		"--faults", "process.kill", "--duration", "1s", "--shrink", "1h", "--out", out)
	var stdout strings.Builder
	cmd.Stdout = &stdout
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var told []string
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		told = append(told, lines.Text())
		if strings.HasSuffix(lines.Text(), "a smaller case is looked for") {
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
	}
	if code := exitStatus(t, cmd.Wait()); code != 128+int(syscall.SIGTERM) {
		t.Fatalf("exit status %d: %s", code, strings.Join(told, "\n"))
	}
	wantParts(t, told[len(told)-1], "pulley: ended by a signal (terminated); "+out+" has the violation and its smallest case until then")
	wantParts(t, stdout.String(), "breaks: ", "The search for a smaller case was interrupted.", "again: pulley chaos --replay "+filepath.Join(out, "case.json"))
	var found struct {
		First       struct{ Verdict struct{ Result string } }
		Interrupted bool
	}
	text, err := os.ReadFile(filepath.Join(out, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &found); err != nil || !found.Interrupted || found.First.Verdict.Result != "breaks" {
		t.Errorf("%v: %.500s", err, text)
	}
	if got := run(t, "chaos", "--replay", filepath.Join(out, "case.json"), "--shrink", "0", "--out", t.TempDir()); got.code != console.ExitFailed {
		t.Errorf("the case that was written: %+v", got)
	}
}

func TestChaosOfSystemsIsRefused(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"pulley: there is no program nosuchprogram; check the name, and PATH\n":                            {"--systems", "exec:nosuchprogram"},
		"pulley: --systems: there is no system \"pusch\", did you mean \"push\"?\n":                        {"--systems", "journal,pusch"},
		"pulley: the adapter pull:scan=sql has no setting \"lease\"; it has lease_ms, poll_ms, sweep_ms\n": {"--systems", "pull:scan=sql", "--setting", "lease=1"},
		"pulley: --systems: there is no system sidekiq: no program pulley-adapter-sidekiq is beside pulley or in PATH; build it with make adapters, or with go build -o pulley-adapter-sidekiq . in adapters/sidekiq\n": {"--systems", "sidekiq"},
		"pulley: the adapter queue.py has no setting \"lease\"; it has lease_ms\n":                                                                                                            {"--systems", referenceAdapter, "--setting", "lease=1"},
		"pulley: --systems: --soak, --rate, --limit-concurrency, --limit-rate, --priorities, --fair, --every, --instances, --input, --server and --hosts are for --backend; leave them out\n": {"--systems", referenceAdapter, "--rate", "50"},
	} {
		got := run(t, append([]string{"chaos", "--out", t.TempDir()}, args...)...) // which may start itself as an adapter
		if got.code != console.ExitUsage || got.err != want || got.out != "" {
			t.Errorf("%q: %+v, want %s", args, got, want)
		}
	}
	got := call(t, nil, "chaos", "--out", t.TempDir(), "--systems", referenceAdapter, "--faults", "process.clock")
	wantParts(t, got.err, "--faults: none of these can happen to a system behind an adapter; choose from wire.cut")
	if got.code != console.ExitUsage {
		t.Errorf("%+v", got)
	}
}
