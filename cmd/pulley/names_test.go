package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"pulley/cmd/pulley/console"
)

func TestList(t *testing.T) {
	t.Parallel()
	for what, name := range map[string]string{"backends": "journal", "scenarios": "fanout", "faults": "wire.cut", "bugs": "token-ignored", "actions": "flaky"} {
		got := call(t, nil, "list", what)
		if got.code != 0 || got.err != "" || !strings.Contains(got.out, name) {
			t.Errorf("%s: %+v", what, got)
		}
		got = call(t, nil, "list", what, "--format", "json")
		var rows []map[string]any
		if err := json.Unmarshal([]byte(got.out), &rows); err != nil || len(rows) < 5 || rows[0]["about"] == "" {
			t.Errorf("%s: %v: %+v", what, err, got)
		}
		if !slices.ContainsFunc(rows, func(r map[string]any) bool { return r["name"] == name }) {
			t.Errorf("%s has no %s", what, name)
		}
	}
}

func TestUnknownNames(t *testing.T) {
	t.Parallel()
	prog := file(t, "p.ir", "fn main(input: [], output: [x]):\n    x = @duoble(value=1)\n")
	for want, args := range map[string][]string{
		`there is no backend "pusch", did you mean "push"? See pulley list backends`:                       {"run", prog, "--backend", "pusch"},
		`there is no backend "eagr", did you mean "eager"? See pulley list backends`:                       {"compare", "chain", "--backends", "push,eagr"},
		`there is no simulated backend "memory"; there are push, eager, journal, pull, pull:scan=sql, all`: {"sim", "--backends", "memory"},
		`there is no scenario "fanuot", did you mean "fanout"? See pulley list scenarios`:                  {"compare", "fanuot"},
		`there is no fault "wire.curt", did you mean "wire.cut"? See pulley list faults`:                   {"chaos", "--faults", "wire.curt"},
		`there is no bug "token-ignord", did you mean "token-ignored"? See pulley list bugs`:               {"sim", "--bug", "token-ignord"},
		`unexpected argument chaso, did you mean "chaos"? See pulley help`:                                 {"chaso"},
		`unknown flag --sed, did you mean`:                                                                 {"chaos", "--sed", "1"},
		`there is no list of "bakends", did you mean "backends"?`:                                          {"list", "bakends"},
		`there is no command "chaso", did you mean "chaos"? See pulley help`:                               {"help", "chaso"},
		`is no bug of pull; pulley list bugs says whose it is`:                                             {"sim", "--bug", "map-order", "--backends", "pull"},
	} {
		got := call(t, nil, args...)
		if got.code != console.ExitUsage || got.out != "" {
			t.Errorf("%v: %+v", args, got)
		}
		wantLine(t, got.err, "pulley: ", want)
	}
	if got := call(t, nil, "run", prog, "--backend", "memory"); got.code != console.ExitUsage || !strings.Contains(got.err, "p.ir:2:9: unknown action @duoble; did you mean @double?") {
		t.Errorf("an action: %+v", got)
	}
}

func TestHelpOfCommands(t *testing.T) {
	t.Parallel()
	parser, _ := newParser(&console.Console{})
	var walk func(node *kong.Node, path []string)
	walk = func(node *kong.Node, path []string) {
		for _, child := range node.Children {
			if child.Hidden {
				continue
			}
			words := append(slices.Clone(path), child.Name)
			got := call(t, nil, append([]string{"help"}, words...)...)
			if got.code != 0 || got.err != "" || !strings.HasPrefix(got.out, "Usage: pulley "+strings.Join(words, " ")) {
				t.Errorf("help %v: %+v", words, got)
			}
			if len(child.Children) == 0 {
				if flags := completions(parser, append(words, "--q")); !slices.Contains(flags, "--quiet") {
					t.Errorf("%v --q is completed to %q", words, flags)
				}
			}
			walk(child, words)
		}
	}
	walk(parser.Model.Node, nil)
	if help, flag := call(t, nil, "help", "chaos"), run(t, "chaos", "--help"); help.out != flag.out { // the flag ends the process
		t.Errorf("help chaos:\n%s\nchaos --help:\n%s", help.out, flag.out)
	}
	if got := call(t, nil, "help"); got.code != 0 || !strings.Contains(got.out, "forecast") || strings.Contains(got.out, "chaos-engine") {
		t.Errorf("help: %+v", got)
	}
}

func TestFormats(t *testing.T) {
	t.Parallel()
	parser, _ := newParser(&console.Console{})
	without := []string{"work", "help", "completion", "scenarios", "schedule", "limit", "schema", "grants", "worker", "adapter", "serve", "report"} // report renders what is JSON already
	var walk func(node *kong.Node)
	walk = func(node *kong.Node) {
		for _, child := range node.Children {
			walk(child)
			if child.Hidden || slices.Contains(without, child.Name) {
				continue
			}
			i := slices.IndexFunc(child.Flags, func(f *kong.Flag) bool { return f.Name == "format" })
			if i < 0 || !slices.Contains(child.Flags[i].EnumSlice(), "json") || !slices.Contains(child.Flags[i].EnumSlice(), "text") {
				t.Errorf("%s has no --format text|json", child.FullPath())
			}
		}
	}
	walk(parser.Model.Node)
}

// One idea has one flag name: former names do not return, and short forms are few.
func TestSpellings(t *testing.T) {
	t.Parallel()
	exited := []string{"run-time", "max-time", "for", "searches", "slots", "messages", "sizes", "length", "most", "patience", "ceiling", "run-timeout"}
	kinds := map[string]string{} // of the values of flags of one name
	parser, _ := newParser(&console.Console{})
	var walk func(node *kong.Node)
	walk = func(node *kong.Node) {
		for _, child := range node.Children {
			walk(child)
			if child.Hidden {
				continue
			}
			for _, f := range child.Flags {
				if slices.Contains(exited, f.Name) {
					t.Errorf("%s has --%s", child.FullPath(), f.Name)
				}
				if f.Short != 0 && f.Short != 'v' && f.Short != 'h' && f.Short != 'q' {
					t.Errorf("%s has -%c", child.FullPath(), f.Short)
				}
				kind := f.Target.Type().String()
				if before := kinds[f.Name]; before != "" && before != kind && f.Name != "trace" && f.Name != "only" && f.Name != "run" && f.Name != "instances" {
					t.Errorf("--%s is a %s in %s, and a %s elsewhere", f.Name, kind, child.FullPath(), before)
				}
				kinds[f.Name] = kind
			}
		}
	}
	walk(parser.Model.Node)
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"ru": "run", "sce": "scenarios", "sched": "schedule", "schedule pa": "pause", "scenarios ch": "check", "run --back": "--backend", "run --backend jo": "journal", "run --backend=jo": "--backend=journal",
		"compare --backends push,ea": "push,eager", "compare fan": "fanout", "compare --backends push di": "diamond", "chaos --faults wire.cut,process.ki": "wire.cut,process.kill",
		"chaos --systems push,jo": "push,journal", "adapter serve ea": "eager", "adapter serve mem": "", "sim --bug token-ig": "token-ignored", "run x.ir --format js": "json", "run -v --form": "--format", "list fa": "faults", "completion z": "zsh", "chaos-n": "", "help": "help",
	} {
		got := call(t, nil, append([]string{"complete", "--"}, strings.Fields(line)...)...)
		if got.code != 0 || strings.TrimSpace(got.out) != want {
			t.Errorf("%q: %+v, want %q", line, got, want)
		}
	}
	for shell, want := range map[string]string{"bash": "complete -o default -F _pulley pulley", "zsh": "compdef _pulley pulley", "fish": "complete -c pulley"} {
		if got := call(t, nil, "completion", shell); got.code != 0 || !strings.Contains(got.out, want) {
			t.Errorf("%s: %+v", shell, got)
		}
	}
}

func TestQuiet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	loud := call(t, nil, "forecast", "chain=2", "--workers", "1", "--service", "const:1ms", "--out", dir)
	quiet := call(t, nil, "forecast", "chain=2", "--workers", "1", "--service", "const:1ms", "--out", dir, "--quiet")
	if loud.code != 0 || loud.err == "" || quiet.err != "" || quiet.out != loud.out {
		t.Errorf("%+v\n%+v", loud, quiet)
	}
	if got := call(t, nil, "forecast", "chian", "--workers", "1", "-q"); got.code != console.ExitUsage || got.err == "" {
		t.Errorf("a mistake is not told: %+v", got)
	}
}

func TestProgramsAreCompared(t *testing.T) {
	t.Parallel()
	prog, out := file(t, "own.ir", "fn main(input: [n], output: [x]):\n    ys = spread range(n):i -> @double(value=i)\n    x = @sum(values=ys)\n"), t.TempDir()
	got := call(t, nil, "compare", prog, "--input", `{"n": 3}`, "--backends", "memory", "--runs", "1", "--min-nodes", "4", "--load", "alone", "--no-ceiling", "--out", out, "--format", "json")
	if got.code != 0 || !strings.Contains(got.out, `"scenario": "own"`) || !strings.Contains(got.out, `"valid": true`) {
		t.Errorf("%+v", got)
	}
	for want, args := range map[string][]string{
		"--input is for a program; name a FILE.ir": {"compare", "chain", "--input", "{}"},
		"\"n\" is missing; the workflow takes n":   {"compare", prog},
		"the key \"n\" is there twice":             {"compare", prog, "--input", `{"n": 1, "n": 2}`},
		"--input":                                  {"bench", prog, "--input", `{"m": 1}`, "--rate", "1"},
	} {
		got := call(t, nil, append(args, "--out", out)...)
		if got.code != console.ExitUsage || !strings.Contains(got.err, want) {
			t.Errorf("%v: %+v, want %q", args, got, want)
		}
	}
}
