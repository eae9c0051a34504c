package process

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/worker"
	"pulley/engine/worker/procgroup"
	"pulley/internal/depth"
)

func keeper(t testing.TB) *procgroup.Supervisor {
	t.Helper()
	depth.Needs(t, "other processes")
	k, err := procgroup.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return k
}

func registry(t testing.TB, c Config, programs map[string][]string) *worker.Registry {
	t.Helper()
	k := keeper(t)
	r, err := worker.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	for name, command := range programs {
		c.Command = command
		a, err := New(c, k)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Register(name, a.Run); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func execute(ctx context.Context, r *worker.Registry, action, args string) string {
	result, failure := r.Execute(ctx, backend.Task{Action: action, Args: json.RawMessage(args), Attempt: 2})
	if failure != nil {
		return failure.Type + ": " + failure.Message
	}
	return string(result)
}

func shell(script string) []string { return []string{"/bin/sh", "-c", script} }

func TestHowProgramsEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script, args, want string
	}{
		"echo":               {"cat", `{"a":[1,2.0,"ü"]}`, `{"a":[1,2.0,"ü"]}`},
		"white space":        {`printf '\n\t 7 \n\n'`, `{}`, "7"},
		"large number":       {"echo 123456789012345678901234567890", `{}`, "123456789012345678901234567890"},
		"input not read":     {"exec <&-; echo null", `{"a":"` + strings.Repeat("x", 1<<20) + `"}`, "null"},
		"large input":        {"cat >/dev/null; echo true", `{"a":"` + strings.Repeat("x", 1<<20) + `"}`, "true"},
		"what it is told":    {`printf '"%s %s %s"' "$PULLEY_ACTION" "$PULLEY_ATTEMPT" "$PULLEY_KEY"`, `{}`, `"told 2 00000000-0000-0000-0000-000000000000/"`},
		"errors are no end":  {"echo warning >&2; echo 1", `{}`, "1"},
		"nothing":            {"true", `{}`, "ResultError: the program ended with status 0, and wrote no result; it writes one JSON value to standard output, such as null"},
		"blank":              {"echo", `{}`, "ResultError: the program ended with status 0, and wrote no result…"},
		"two values":         {"echo 1; echo 2", `{}`, "ResultError: the program ended with status 0, and its result is no JSON value: byte 3: invalid character '2' after top-level value; what it tells people goes to standard error: \"1\\n2\""},
		"garbage before":     {"echo loading; echo 1", `{}`, "ResultError: …"},
		"ends early":         {`printf '{"a": [1,'`, `{}`, "ResultError: the program ended with status 0, and its result is no JSON value: …"},
		"not UTF":            {`printf '"\377"'`, `{}`, "ResultError: the program ended with status 0, and its result is not UTF-8"},
		"not finite":         {"echo NaN", `{}`, "ResultError: …"},
		"status":             {"echo 1; exit 3", `{}`, "ExitStatus: the program ended with exit status 3"},
		"status and text":    {"echo begun >&2; echo 'it broke' >&2; exit 1", `{}`, "ExitStatus: the program ended with exit status 1: begun\nit broke"},
		"typed":              {`echo begun >&2; echo '{"type": "Declined", "message": "no money"}' >&2; exit 1`, `{}`, "Declined: no money"},
		"typed without end":  {`printf '{"type": "Declined", "message": ""}' >&2; exit 1`, `{}`, "Declined: "},
		"typed badly":        {`echo '{"type": 7, "message": "no"}' >&2; exit 1`, `{}`, `ExitStatus: the program ended with exit status 1: {"type": 7, "message": "no"}`},
		"typed, status 0":    {`echo '{"type": "Declined", "message": "no money"}' >&2; echo 0`, `{}`, "0"},
		"long text":          {"yes abc | head -c 100000 >&2; exit 1", `{}`, "ExitStatus: the program ended with exit status 1: … …"},
		"text not UTF":       {`printf 'a\377b' >&2; exit 1`, `{}`, "ExitStatus: the program ended with exit status 1: a\uFFFDb"},
		"signal":             {"kill -SEGV $$", `{}`, "Killed: the program ended with signal: segmentation fault…"},
		"too much":           {"yes", `{}`, "LimitExceeded: the program wrote more than its limit of 2000000 bytes to standard output"},
		"too much for value": {`printf '"'; head -c 1500000 /dev/zero | tr '\0' x; printf '"'`, `{}`, "LimitExceeded: action too much for value: its result: …"},
		"too slow":           {"sleep 1000", `{}`, "Timeout: the program took longer than its limit of 1s"},
		"stopped":            {"kill -STOP $$", `{}`, "Timeout: …"},
		"ignores the end":    {"trap '' TERM; while :; do sleep 1; done", `{}`, "Timeout: …"},
		"child holds output": {"sleep 1000 & echo 5", `{}`, "5"},
		"child has session":  {"setsid sleep 1000 & echo 6", `{}`, "6"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			action := strings.NewReplacer(" ", "_", ",", "").Replace(name)
			if name == "what it is told" {
				action = "told"
			}
			limits := Limits{Output: 2_000_000, Time: 10 * time.Minute}
			if strings.HasPrefix(c.want, "Timeout") {
				limits.Time = time.Second
			}
			r := registry(t, Config{Limits: limits, Grace: 50 * time.Millisecond}, map[string][]string{action: shell(c.script)})
			got := execute(t.Context(), r, action, c.args)
			want := strings.ReplaceAll(c.want, "action "+name, "action "+action)
			begin, open := strings.CutSuffix(want, "…")
			if got != want && !(open && strings.HasPrefix(got, begin)) {
				t.Errorf("got\n%.300s\nwant\n%s", got, want)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	r := registry(t, Config{Limits: Limits{Memory: 64 << 20, OpenFiles: 16, Processes: 8}}, map[string][]string{
		"memory":    {"perl", "-e", `my @a; push @a, "x" x 1e6 for 1..200; print scalar @a`},
		"files":     {"perl", "-e", `my @a; for (1..50) { open(my $f, "<", "/dev/null") or do { print scalar @a; exit }; push @a, $f }; print "all"`},
		"processes": shell("for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 1000 & done; wait"),
		"modest":    {"perl", "-e", `print 1`},
	})
	if got := execute(t.Context(), r, "memory", `{}`); !strings.HasPrefix(got, TypeExitStatus+": ") && !strings.HasPrefix(got, TypeKilled+": ") {
		t.Errorf("more memory than the limit: %s", got)
	}
	if got := execute(t.Context(), r, "files", `{}`); got == `"all"` || len(got) > 2 {
		t.Errorf("more files than the limit: %s", got)
	}
	if got := execute(t.Context(), r, "processes", `{}`); got != "LimitExceeded: the program had more than its limit of 8 processes" {
		t.Errorf("more processes than the limit: %s", got)
	}
	if got := execute(t.Context(), r, "modest", `{}`); got != "1" {
		t.Errorf("within the limits: %s", got)
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "begun")
	r := registry(t, Config{AtOnce: 1}, map[string][]string{"wait": shell("echo $$ >" + mark + ".new; mv " + mark + ".new " + mark + "; sleep 1000"), "touch": shell("echo >" + mark + "2; echo 1")})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // far more than a program needs to start
	defer cancel()
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if got := execute(ctx, r, "wait", `{}`); got != "Error: context canceled" {
				t.Errorf("a cancelled attempt gives %s", got)
			}
		})
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for begun := false; !begun && ctx.Err() == nil; <-tick.C {
		_, err := os.Stat(mark)
		begun = err == nil
	}
	cancel()
	both.Wait()
	if got := execute(ctx, r, "touch", `{}`); got != "Error: context canceled" {
		t.Errorf("an attempt that is cancelled before gives %s", got)
	}
	if _, err := os.Stat(mark + "2"); err == nil {
		t.Error("the program of an attempt that was cancelled before ran")
	}
}

func TestNodeTimeout(t *testing.T) {
	t.Parallel()
	r := registry(t, Config{}, map[string][]string{"slow": shell("sleep 1000")})
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, &worker.Error{Type: worker.TypeTimeout, Message: "over"})
	defer cancel()
	if got := execute(ctx, r, "slow", `{}`); got != "Timeout: over" {
		t.Errorf("the end of the node's time gives %s", got)
	}
}

// The contract's suite runs five hundred programs at once.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	r := registry(t, Config{AtOnce: 5, Dir: t.TempDir()}, map[string][]string{
		"few": shell(`mkdir $$ && ls | wc -l && sleep 0.05 && rmdir $$`),
	})
	var all sync.WaitGroup
	for range 30 {
		all.Go(func() {
			if got := execute(t.Context(), r, "few", `{}`); len(got) != 1 || got > "5" {
				t.Errorf("%s programs of an action run at once, which may be 5", got)
			}
		})
	}
	all.Wait()
}

func TestProgramsThatCannotBe(t *testing.T) {
	depth.Needs(t, "other processes")
	t.Parallel()
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("echo 1"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]Config{
		"no program; name one and its arguments":                         {},
		"there is no program nosuchprogram; check the name, and PATH":    {Command: []string{"nosuchprogram"}},
		"there is no program " + dir + "/none; check the name, and PATH": {Command: []string{"./none"}, Dir: dir},
		plain + " is no program that may be run; chmod +x makes it one":  {Command: []string{"./plain"}, Dir: dir},
		"-1 processes at once; choose one at least":                      {Command: []string{"sh"}, AtOnce: -1},
		"a limit is below zero; leave it out for none":                   {Command: []string{"sh"}, Limits: Limits{Memory: -1}},
	} {
		if _, err := New(c, nil); err == nil || err.Error() != want {
			t.Errorf("New gives %v, want %s", err, want)
		}
	}
	k, err := procgroup.New()
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(Config{Command: shell("echo 1")}, k)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	var typed *worker.Error
	if _, err := a.Run(t.Context(), worker.Call{}); !errors.As(err, &typed) || typed.Type != TypeStart {
		t.Errorf("after the end, an attempt gives %v", err)
	}
	exited := Config{Command: shell("echo 1"), Dir: filepath.Join(dir, "gone")}
	if a, err = New(exited, keeper(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Run(t.Context(), worker.Call{}); !errors.As(err, &typed) || typed.Type != TypeStart || !strings.Contains(typed.Message, "no such file or directory") {
		t.Errorf("in a directory that is gone, an attempt gives %v", err)
	}
}

// Every line of standard error must be logged: a long one cut, the last one without its newline.
func TestLogHasEachLine(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var lines []string
	c := Config{Command: shell(`printf 'one\n\ntwo\nthree' >&2; echo 1`), Log: func(action, line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, action+":"+line)
	}}
	a, err := New(c, keeper(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Run(t.Context(), worker.Call{Action: "a", Instance: uuid.New(), Path: graph.Path("1")}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(lines, " "); got != "a:one a: a:two a:three" {
		t.Errorf("told were %q", got)
	}
}
