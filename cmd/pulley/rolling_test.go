package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pulley/internal/depth"
	"pulley/internal/pause"
	"pulley/internal/pgtest"
)

// rolling is a schema with engines that are replaced one by one, while instances are submitted at a constant rate.
type rolling struct {
	*testing.T
	dir   string
	where []string

	mu   sync.Mutex
	sent map[string]sentInstance // by id
}

type sentInstance struct {
	program string
	at      time.Time
}

const rollingRate = 20 * time.Millisecond // between two submissions

// Engines of an old version are replaced by engines of a new one, under load. Old engines do not have the new version's action, and
// leave it. No instance fails, each action runs once, each engine ends within its drain, and why tells of an action that no engine has.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	for _, design := range depth.Of([]string{"push"}, []string{"push", "journal", "pull", "eager"}) {
		t.Run(design, func(t *testing.T) {
			t.Parallel()
			r := &rolling{T: t, dir: t.TempDir(), sent: map[string]sentInstance{}}
			r.where = []string{"--backend", design, "--dsn", pgtest.DSN(t), "--schema", pgtest.SchemaOf(t, design)}
			r.roll()
		})
	}
}

func (r *rolling) roll() {
	ctx, cancel := depth.Within(r.Context(), r.T, deadline)
	defer cancel()
	old := r.actions("old.yaml", "old")
	both := r.actions("both.yaml", "old", "new")
	first, second := r.workflow("old"), r.workflow("new")

	early := strings.TrimSpace(r.do("submit", second).out)
	var engines []*exec.Cmd
	for range depth.Of(2, 4) {
		engines = append(engines, r.work(old))
	}
	r.awaitWhy(ctx, early, "It waits for an engine that has action @new, to run new: the engines that took it do not have it")
	load, endLoad := context.WithCancel(ctx)
	var sending sync.WaitGroup
	for _, program := range []string{first, second} {
		sending.Go(func() { r.submitAll(load, program) })
	}
	some := depth.Of(12, 160)
	r.awaitSent(ctx, some)
	begin := time.Now()
	for i, e := range engines {
		engines[i] = r.work(both)
		r.stop(e)
		r.awaitSent(ctx, len(r.sentNow())+some/4)
	}
	end := time.Now()
	r.awaitSent(ctx, len(r.sentNow())+some)
	endLoad()
	sending.Wait()
	for id := range r.sentNow() {
		if got := r.do("wait", id); got.code != 0 || got.out != "completed: 1\n" {
			r.Errorf("an instance ended: %+v", got)
		}
	}
	if got := r.do("wait", early); got.code != 0 {
		r.Errorf("the instance that waited ended: %+v", got)
	}
	for _, e := range engines {
		r.stop(e)
	}
	r.countRuns(len(r.sentNow())+1, begin, end)
}

// actions writes a manifest with actions that note that they ran, and return 1.
func (r *rolling) actions(name string, actions ...string) string {
	r.Helper()
	text := "actions:\n"
	for _, a := range actions {
		text += fmt.Sprintf("  %s: {process: [sh, -c, 'date +%%s%%N >> %s/$PULLEY_INSTANCE; echo 1']}\n", a, r.dir)
	}
	path := filepath.Join(r.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.Fatal(err)
	}
	return path
}

func (r *rolling) workflow(action string) string {
	r.Helper()
	return file(r.T, action+".ir", "fn main(input: [], output: [x]):\n    x = @"+action+"()\n")
}

func (r *rolling) do(args ...string) result {
	r.Helper()
	return call(r.T, nil, append(args, r.where...)...)
}

func (r *rolling) work(actions string) *exec.Cmd {
	r.Helper()
	cmd := command(r.T, append([]string{"work", "--actions", actions, "--workers", "8", "--drain", "1m"}, r.where...)...)
	cmd.Stderr = &bytes.Buffer{}
	if err := cmd.Start(); err != nil {
		r.Fatal(err)
	}
	return cmd
}

// stop interrupts an engine, which ends what runs.
func (r *rolling) stop(cmd *exec.Cmd) {
	r.Helper()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		r.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 128+int(syscall.SIGTERM) {
		r.Errorf("an engine ended with %v: %s", err, cmd.Stderr)
	}
}

func (r *rolling) submitAll(ctx context.Context, program string) {
	for range pause.Ticks(ctx, rollingRate) {
		at := time.Now()
		got := r.do("submit", program)
		if got.code != 0 {
			r.Errorf("submit: %+v", got)
			return
		}
		r.mu.Lock()
		r.sent[strings.TrimSpace(got.out)] = sentInstance{program, at}
		r.mu.Unlock()
	}
}

func (r *rolling) sentNow() map[string]sentInstance {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.sent)
}

func (r *rolling) awaitSent(ctx context.Context, n int) {
	r.Helper()
	for range pause.Tries(ctx, 10*time.Millisecond) {
		r.mu.Lock()
		enough := len(r.sent) >= n
		r.mu.Unlock()
		if enough {
			return
		}
	}
	r.Fatalf("%d instances were not sent: %v", n, context.Cause(ctx))
}

func (r *rolling) awaitWhy(ctx context.Context, id, want string) {
	r.Helper()
	var got result
	for range pause.Tries(ctx, 20*time.Millisecond) {
		if got = r.do("why", id); strings.HasPrefix(got.out, want) {
			return
		}
	}
	r.Fatalf("why never says %q, but %+v", want, got)
}

// countRuns checks that each instance's action ran once, and tells how long it took from the submission to the begin of the action
// that both versions have: before the first engine was replaced, while they were, and afterwards.
func (r *rolling) countRuns(instances int, begin, end time.Time) {
	r.Helper()
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		r.Fatal(err)
	}
	if len(entries) != instances {
		r.Errorf("%d instances ran, %d were submitted", len(entries), instances)
	}
	phases := make([][]time.Duration, 3)
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(r.dir, e.Name()))
		if err != nil {
			r.Fatal(err)
		}
		lines := strings.Fields(string(text))
		if len(lines) != 1 {
			r.Errorf("instance %s ran %d times", e.Name(), len(lines))
			continue
		}
		ns, err := strconv.ParseInt(lines[0], 10, 64)
		if err != nil {
			r.Fatal(err)
		}
		sent := r.sent[e.Name()]
		if filepath.Base(sent.program) != "old.ir" {
			continue
		}
		phase := 0
		if sent.at.After(begin) {
			phase = 1
		}
		if sent.at.After(end) {
			phase = 2
		}
		phases[phase] = append(phases[phase], time.Unix(0, ns).Sub(sent.at))
	}
	told := fmt.Sprintf("instances=%d", instances)
	for i, name := range []string{"before", "during", "after"} {
		slices.Sort(phases[i])
		told += fmt.Sprintf(" %s=%d p50=%v p99=%v", name, len(phases[i]), quantile(phases[i], 50), quantile(phases[i], 99))
	}
	depth.Done(r.T, "%s", told)
}

func quantile(sorted []time.Duration, percentile int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, len(sorted)*percentile/100)].Round(time.Millisecond)
}
