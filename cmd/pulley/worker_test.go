package main

import (
	"path/filepath"
	"strings"
	"testing"

	"pulley/cmd/pulley/console"
)

func exampleWorker(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs("../../examples/workers/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWorkerCheck(t *testing.T) {
	t.Parallel()
	got := runForRaces(t, "worker", "check", "--timeout", "1m", "--run", `words.count {"text": "a b"}`, "perl", exampleWorker(t, "words.pl"))
	if got.code != 0 || got.err != "" {
		t.Errorf("%+v", got)
	}
	wantParts(t, got.out, "left out: heartbeats while idle: hello has no heartbeat_ms", "left out: heartbeats while busy", "0 findings, 12 checks without: a line in pieces, a long line")
	got = call(t, nil, "worker", "check", "sh", "-c", "echo started >&2; echo hello; exit 3")
	if got.code != console.ExitFailed || got.err != "worker: started\n" {
		t.Errorf("%+v", got)
	}
	wantParts(t, got.out, `output: expected nothing but messages on standard output; came "hello"; print to standard error`,
		"\nhello: expected a hello within 30s; came its end with exit status 3, and on standard error: started; write", "\n2 findings, 0 checks without: \n")
	if strings.Count(got.out, "\n") != 3 {
		t.Errorf("a finding is more than a line: %s", got.out)
	}
}

func TestWorkerCheckIsRefused(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"pulley: there is no program nosuchprogram; check the name, and PATH\n":                                         {"nosuchprogram", "--timeout"},
		"pulley: --run: write the name of an action and its arguments, an object, such as mail.send {\"to\": \"x\"}\n":  {"--run", "a [1]", "sh"},
		"pulley: --slow: write the name of an action and its arguments, an object, such as mail.send {\"to\": \"x\"}\n": {"--slow", "a-b", "sh"},
		"pulley: --timeout and --hello-timeout are times above zero; write such as 5s\n":                                {"--timeout", "0s", "sh"},
		"pulley: expected \"<command> ...\"; see pulley help worker check\n":                                            {},
	} {
		got := call(t, nil, append([]string{"worker", "check"}, args...)...)
		if got.code != console.ExitUsage || got.err != want || got.out != "" {
			t.Errorf("%q: %+v, want %s", args, got, want)
		}
	}
}

func TestWorkersOfOnesOwn(t *testing.T) {
	t.Parallel()
	prog := file(t, "words.ir", `
fn main(input: [text], output: [all]):
    loud = @words.shout(text=text)
    back = @words.reverse(text=loud)
    try:
        @kill(text=back)
    except WorkerDied as e:
        last = e["type"]
    try:
        @kill_again(text=back)
    except WorkerDied as e:
        last = last + "!"
    all = [loud, back, last]
    return all
`)
	actions := file(t, "actions.yaml", `
actions:
  words.shout: {worker: python}
  kill: {worker: killer, calls: words.reverse}
  kill_again: {worker: killer_too, calls: words.reverse}
workers:
  python: {command: [python3, `+exampleWorker(t, "words.py")+`], processes: 2}
  perl: {command: [perl, `+exampleWorker(t, "words.pl")+`]}
  killer: {command: [perl, -e, 'local @ARGV = shift; undef $/; my $text = <>; $/ = "\n"; $text =~ s/scalar reverse/kill KILL => $$; 1;/; eval $text; die $@ if $@', `+exampleWorker(t, "words.pl")+`], deliveries: 2}
  killer_too: {command: [perl, -e, 'local @ARGV = shift; undef $/; my $text = <>; $/ = "\n"; $text =~ s/scalar reverse/kill KILL => $$; 1;/; eval $text; die $@ if $@', `+exampleWorker(t, "words.pl")+`]}
`)
	got := runForRaces(t, "run", prog, "--actions", actions, "--backend", "memory", "--input", `{"text": "für"}`)
	if got.code != 0 || got.out != `completed: ["FÜR","RÜF","WorkerDied!"]`+"\n" || got.err != "" {
		t.Errorf("%+v", got)
	}
}
