package pull_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/pull"
	"pulley/engine/pgserver/pgtest"
	"pulley/internal/depth"
)

const (
	joining = `
fn main(input: [], output: [s]):
    a, b = parallel:
        @double(value=1)
        @double(value=2)
    s = @sum(values=[a, b])
`
	rounds = `
fn main(input: [n], output: [all]):
    all = []
    for i in range(n):
        x = @double(value=i)
        all = all + [x]
`
	caught = `
fn main(input: [], output: [r]):
    try:
        a, b = parallel:
            @fail(type="Bad", message="no")
            @double(value=2)
        r = [a, b]
    except Bad as e:
        r = @echo(value=e["type"])
`
)

// offers make completions on instances of their own, of which all are to be applied.
var offers = map[string]func(r *rig) []backend.Completion{
	"a step":           func(r *rig) []backend.Completion { return r.first(chain, `{"n": 1}`) },
	"ends an instance": func(r *rig) []backend.Completion { return r.second(chain, `{"n": 1}`) },
	"opens a barrier":  func(r *rig) []backend.Completion { return r.second(joining, `{}`) },
	"another round":    func(r *rig) []backend.Completion { return r.second(rounds, `{"n": 3}`) },
	"calls siblings off": func(r *rig) []backend.Completion {
		return r.first(caught, `{}`)
	},
	"several": func(r *rig) []backend.Completion {
		cs := append(r.first(chain, `{"n": 1}`), r.second(joining, `{}`)...)
		if depth.Night() {
			cs = append(cs, r.second(rounds, `{"n": 3}`)...)
		}
		return append(cs, r.first(caught, `{}`)...)
	},
}

// first starts an instance and completes its first task.
func (r *rig) first(source, input string) []backend.Completion {
	r.held = nil
	r.submit(source, input)
	for _, t := range r.held {
		if t.Action == "fail" {
			return []backend.Completion{done(t)}
		}
	}
	return []backend.Completion{done(r.held[0])}
}

// second starts an instance, and completes what is held once its first task has been.
func (r *rig) second(source, input string) []backend.Completion {
	c := r.first(source, input)
	r.held = r.held[1:]
	if got := r.complete(c...); got[0] != backend.Applied || len(r.held) != 1 {
		r.Fatalf("%v, and %d tasks; want the first applied, and one", got, len(r.held))
	}
	return []backend.Completion{done(r.held[0])}
}

// TestLostCommit cuts the connection at every message of a completion, and wants what is answered to be what
// happened, and everything to end as if nothing had (D7).
func TestLostCommit(t *testing.T) {
	for name, offer := range offers {
		for _, scan := range []pull.Scan{pull.ScanApp, pull.ScanSQL} {
			t.Run(fmt.Sprintf("%s/%s", name, scan), func(t *testing.T) {
				t.Parallel()
				r := newRig(t, alone(t, scan), scan)
				proxy := pgtest.StartProxy(t, r.cfg.DSN)
				cuts := 0
				for _, c := range depth.Of(pgtest.OnceEach(), []pgtest.Cut{{Mode: pgtest.CutAfter, Client: true}, {Mode: pgtest.CutBefore}, {Mode: pgtest.CutBefore, Dead: true}}) {
					cuts += r.everyMessage(proxy, scan, c, offer)
				}
				t.Logf("%d cuts", cuts)
				r.finish()
			})
		}
	}
}

// cutsAtOnce is of how many cuts the instances are left to run beside one another.
const cutsAtOnce = 6

// everyMessage offers completions with the cut at the first message, the second, and so on, until they are
// answered before their cut is due.
func (r *rig) everyMessage(proxy *pgtest.Proxy, scan pull.Scan, c pgtest.Cut, offer func(r *rig) []backend.Completion) int {
	r.Helper()
	cfg := r.cfg
	cfg.DSN, cfg.Connections = proxy.DSN(), 2
	through := open(r.T, cfg, scan)
	grant := r.grant
	for c = c.At(1); ; c = c.At(c.K + 1) {
		through = r.warm(through, cfg, scan, offer)
		cs := offer(r)
		before := r.dump(cs)
		proxy.Set(c)
		out, err := through.Complete(r.ctx, 0, cs, grant)
		fired := proxy.Unset()
		if err := r.judge(cs, before, out, err); err != nil {
			r.Errorf("%s: %v", c, err)
		}
		if c.K%cutsAtOnce == 0 {
			r.finish() // what runs is read again in every cycle
		}
		switch {
		case fired:
			continue
		case err != nil:
			r.Fatalf("%s was not reached, and: %v", c, err)
		case c.K < 4:
			r.Fatalf("inconclusive: %s was not reached", c)
		}
		return c.K - 1
	}
}

// warm gives a backend that has just made a call which was not cut: the one it is given, or, if that has a connection which was
// cut while nobody used it, a new one.
func (r *rig) warm(through *pull.Backend, cfg postgres.Config, scan pull.Scan, offer func(r *rig) []backend.Completion) *pull.Backend {
	r.Helper()
	if _, err := through.Complete(r.ctx, 0, offer(r), r.grant); err == nil {
		return through
	}
	through.Close()
	through = open(r.T, cfg, scan)
	if _, err := through.Complete(r.ctx, 0, offer(r), r.grant); err != nil {
		r.Fatal(err)
	}
	return through
}

// judge compares what was answered with what a second offer, by a connection that is not cut, is answered.
func (r *rig) judge(cs []backend.Completion, before string, out backend.Committed, err error) error {
	first, again := map[backend.Answer]int{}, map[backend.Answer]int{}
	for _, o := range out.Outcomes {
		first[o.Answer]++
	}
	if err == nil && first[backend.Applied] != len(cs) {
		return fmt.Errorf("I3: answered %v; want all applied, nobody else completes them", first)
	}
	if after := r.dump(cs); err != nil && !backend.IsUnknown(err) && after != before {
		return fmt.Errorf("I8: something was changed by what failed: %w\nbefore\n%s\nafter\n%s", err, before, after)
	}
	for _, answer := range r.complete(cs...) {
		again[answer]++
	}
	switch {
	case err == nil && again[backend.Stale] != len(cs):
		return fmt.Errorf("I3: applied, and offered again: %v; want stale", again)
	case err != nil && !backend.IsUnknown(err) && again[backend.Applied] != len(cs):
		return fmt.Errorf("I3: failed, and offered again: %v; want applied (%w)", again, err)
	case again[backend.Stale] != len(cs) && again[backend.Applied] != len(cs):
		return fmt.Errorf("torn: offered again: %v (%s)", again, fmt.Sprint(err))
	}
	return nil
}

// dump gives all that is stored of the instances of completions.
func (r *rig) dump(cs []backend.Completion) string {
	r.Helper()
	var ids []uuid.UUID
	for _, c := range cs {
		ids = append(ids, c.Lease.Key.Instance)
	}
	rows, err := r.ask().Query(r.ctx, `
		SELECT 'ledger ' || t::text FROM ledger t WHERE instance_id = ANY ($1)
		UNION ALL SELECT 'arrival ' || t::text FROM arrivals t WHERE instance_id = ANY ($1)
		UNION ALL SELECT 'inbox ' || t::text FROM inbox t WHERE instance_id = ANY ($1)
		UNION ALL SELECT 'instance ' || t::text FROM instances t WHERE id = ANY ($1)
		ORDER BY 1`, ids)
	if err != nil {
		r.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		r.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// finish lets all leases expire, runs everything to its end, and wants nothing to be left of it (I9, I10).
func (r *rig) finish() {
	r.Helper()
	if _, err := r.ask().Exec(r.ctx, "UPDATE ledger SET due_at = clock_timestamp() WHERE done IS NULL"); err != nil {
		r.Fatal(err)
	}
	for r.held = nil; ; {
		out, err := r.b.Claim(r.ctx, 0, r.grant)
		if r.took(out, err); len(r.held) == 0 {
			break
		}
		var all []backend.Completion
		for _, task := range r.held {
			all = append(all, done(task))
		}
		r.held = nil
		r.complete(all...)
	}
	if n := r.number("SELECT count(*) FROM instances WHERE status NOT IN ('completed', 'failed')"); n > 0 {
		r.Errorf("I9: %d instances never end", n)
	}
	if left, err := r.b.Leftovers(r.ctx); err != nil || len(left) > 0 {
		r.Errorf("I10: left behind %v (%v)", left, err)
	}
}

// TestLostLeases wants what a lost commit made ready to be claimable at once, and not when the leases are over of
// which nobody has heard.
func TestLostLeases(t *testing.T) {
	both(t, func(t *testing.T, cfg postgres.Config, scan pull.Scan) {
		r := newRig(t, cfg, scan)
		proxy := pgtest.StartProxy(t, r.cfg.DSN)
		cfg.DSN, cfg.Connections = proxy.DSN(), 2
		lost := 0
		through := open(t, cfg, scan)
		for k := 1; ; k++ {
			if through = r.warm(through, cfg, scan, func(r *rig) []backend.Completion { return r.first(chain, `{"n": 1}`) }); depth.Night() {
				through.Close() // what it sends is to be prepared anew
				through = open(t, cfg, scan)
			}
			if _, err := r.b.Claim(r.ctx, 0, r.grant); err != nil { // what a call left that was cut off
				t.Fatal(err)
			}
			cs := r.first(chain, `{"n": 1}`)
			proxy.Set(pgtest.Cut{K: k, Mode: pgtest.CutBefore})
			out, err := through.Complete(r.ctx, 0, cs, r.grant)
			if !proxy.Unset() {
				break
			}
			if err != nil || len(out.Tasks) > 0 {
				continue
			}
			lost++
			claimed, err := r.b.Claim(r.ctx, 0, r.grant)
			if err != nil || !out.More || len(claimed.Tasks) != 1 || claimed.Tasks[0].Lease.Key.Instance != cs[0].Lease.Key.Instance {
				t.Fatalf("cut at message %d: More is %t, and %d tasks are to be claimed (%v); want the one that was made ready", k, out.More, len(claimed.Tasks), err)
			}
		}
		if lost == 0 {
			t.Error("inconclusive: no commit was lost after it took place")
		}
		r.finish()
	})
}
