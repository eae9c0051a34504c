package mutants

import (
	"testing"
	"time"

	"pulley/adapter/protocol"
	"pulley/internal/depth"
	"pulley/internal/pgtest"
)

// nothing is how long a test waits for what must not happen: leases of its runs have ended, and processes have polled.
const nothing = 800 * time.Millisecond

// faults are faults that show the mutants, in runs of the workload slow with a short lease. Each function reports whether what a
// mutant's description says has come of it; planted: it will.
var faults = map[string]func(r *run, planted bool) bool{
	"done-before-executed": func(r *run, planted bool) bool {
		r.workloads[0].Tasks[0].MS = 600_000
		r.settings = map[string]string{"lease_ms": "600000"} // so that only a has the task
		a, b := r.start(true, 1), r.start(false, 0)
		a.submit(protocol.Instance{ID: "1", Workload: "slow"})
		a.await("started", isKind(protocol.KindStarted))
		b.open(1)
		early := b.starts("b", planted) // which a has not finished
		a.kill()
		return early && r.count(protocol.KindFinished, "1", "a") == 0
	},
	"no-reclaim": func(r *run, planted bool) bool {
		r.workloads[0].Tasks[0].MS = 600_000
		a := r.start(true, 1)
		a.submit(protocol.Instance{ID: "1", Workload: "slow"})
		a.await("started", isKind(protocol.KindStarted))
		a.kill()
		return !r.start(false, 1).starts("a", !planted)
	},
	"two-transactions": func(r *run, planted bool) bool {
		r.workloads[0].Tasks[0].MS = 1000
		r.settings = map[string]string{"lease_ms": "600000"} // so that nothing is sent while the task works
		a := r.start(true, 1)
		a.submit(protocol.Instance{ID: "1", Workload: "slow"})
		a.await("started", isKind(protocol.KindStarted))
		r.proxy.Set(pgtest.Cut{Client: true, K: 5, Mode: pgtest.CutBefore}) // a statement has four messages
		return !a.starts("b", !planted)
	},
	"answered-before-commit": func(r *run, _ bool) bool {
		a := r.start(true, 1)
		a.submit(protocol.Instance{ID: "1", Workload: "slow"})
		a.kill()
		return r.start(false, 1).look("1")[0].Status == protocol.Unknown
	},
}

// starts reports whether a process starts a task. It waits longer if that is likely.
func (p *process) starts(task string, likely bool) bool {
	p.run.t.Helper()
	patience := nothing
	if likely {
		patience = within
	}
	_, started := p.poll("started", patience, func(m protocol.Response) bool { return m.Kind == protocol.KindStarted && m.Task == task })
	return started
}

// TestMutantsShow checks that each mutant runs every shape without faults, and shows under its fault; at night also that the adapter
// itself does not.
func TestMutantsShow(t *testing.T) {
	t.Parallel()
	for _, m := range All() {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			fault := faults[m.Name]
			if fault == nil {
				t.Fatal("no fault shows it")
			}
			file, err := m.Write(root, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			healthy := newRun(t, "2000", shapes()...)
			healthy.file = file
			p, all := healthy.start(true, 4), instancesOf(shapes(), "")
			p.submit(all...)
			p.ends(all...)
			healthy.check(p.look(ids(all)...), all)
			p.stop()

			for _, planted := range depth.Of([]bool{true}, []bool{true, false}) {
				r := newRun(t, "300", slow())
				if planted {
					r.file = file
				}
				if shows := fault(r, planted); shows != planted {
					t.Errorf("the fault shows it: %t; the bug is planted: %t", shows, planted)
				}
			}
		})
	}
}
