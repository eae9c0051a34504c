package pool_test

import (
	"errors"
	"strings"
	"testing"

	"pulley/engine/worker"
	"pulley/engine/worker/pool"
	"pulley/engine/worker/procgroup"
)

// greedy uses memory, open files and starts processes. It is in Perl, because Go would use part of the memory before it says
// hello.
const greedy = `
$| = 1;
print '{"pulley":"hello","version":1,"name":"greedy","slots":1,"actions":[{"name":"eat"},{"name":"open"},{"name":"spawn"},{"name":"pid"}]}', "\n";
while (<STDIN>) {
	next unless /"pulley":"run"/;
	my ($id) = /"id":"(\w+)"/;
	my ($action) = /"action":"(\w+)"/;
	my $value = $$;
	my @held;
	if ($action eq "eat") { push @held, "x" x 1e6 for 1 .. 200 }
	if ($action eq "open") { for (1 .. 50) { open(my $f, "<", "/dev/null") or last; push @held, $f } $value = @held }
	if ($action eq "spawn") { for (1 .. 10) { fork or do { sleep 600; exit } } sleep 600 }
	print '{"pulley":"result","id":"', $id, '","value":', $value, "}\n";
}`

// Workers reach their limits. If a worker dies of it, its attempt is delivered again up to the bound, and another worker
// replaces it.
func TestLimits(t *testing.T) {
	t.Parallel()
	limits := procgroup.Limits{Memory: 64 << 20, OpenFiles: 16, Processes: 4}
	command := []string{"perl", "-e", greedy}
	p, n := start(t, pool.Config{Command: command, Limits: limits, MaxDeliveries: 2}, workerPlan{})
	pids := map[string]bool{execute(t.Context(), p, "pid", `{}`): true}
	for _, c := range []struct{ action, want, why string }{
		{"eat", "WorkerDied: action eat: 2 workers died with the attempt, at the last: test[1]: it ended with ", "it ended with "},
		{"spawn", "WorkerDied: action spawn: 2 workers died with the attempt, at the last: test[1]: it was killed, since it had more than its limit of 4 processes", "more than its limit of 4 processes"},
	} {
		if got := execute(t.Context(), p, c.action, `{}`); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s gives %s, want %s", c.action, got, c.want)
		}
		n.wants(t, c.why, 2)
		pids[execute(t.Context(), p, "pid", `{}`)] = true
	}
	if len(pids) != 3 {
		t.Errorf("attempts within the limits gave %v, want the ids of three processes", pids)
	}
	if got := execute(t.Context(), p, "open", `{}`); got == "50" || len(got) > 2 {
		t.Errorf("more files than the limit: %s", got)
	}

	p, _ = start(t, pool.Config{Command: command, Limits: limits}, workerPlan{})
	var died *worker.DiedError
	if _, err := p.Func("spawn")(t.Context(), worker.Call{Args: []byte("{}"), Delivery: 1}); !errors.As(err, &died) ||
		err.Error() != "the worker died: test[1]: it was killed, since it had more than its limit of 4 processes" {
		t.Errorf("where the engine counts, it gives %v", err)
	}
}

func TestNoLimits(t *testing.T) {
	t.Parallel()
	p, _ := start(t, pool.Config{Command: []string{"perl", "-e", greedy}}, workerPlan{})
	for _, action := range []string{"eat", "open"} {
		if got := execute(t.Context(), p, action, `{}`); strings.Contains(got, ":") || action == "open" && got != "50" {
			t.Errorf("%s gives %s", action, got)
		}
	}
}
