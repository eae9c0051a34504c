package pull_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/pull"
)

const chain = `
fn main(input: [n], output: [r]):
    r = @double(value=n)
    r = @double(value=r)
`

// TestCorruptInstance checks that an instance that cannot be continued, for any reason, fails alone, and that others of its shard
// continue.
func TestCorruptInstance(t *testing.T) {
	const refuse = `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF NEW.instance_id = (SELECT min(id::text)::uuid FROM instances) THEN RAISE 'no such row' USING ERRCODE = '22000'; END IF;
			RETURN NEW;
		END $$;
		CREATE TRIGGER refuse BEFORE INSERT ON ledger FOR EACH ROW EXECUTE FUNCTION refuse()`
	both(t, func(t *testing.T, cfg postgres.Config, scan pull.Scan) {
		r := newRig(t, cfg, scan)
		var all []uuid.UUID
		for range 5 {
			all = append(all, r.submit(chain, `{"n": 1}`))
		}
		slices.SortFunc(all, func(a, b uuid.UUID) int { return strings.Compare(a.String(), b.String()) })
		r.Exec(refuse, pgx.QueryExecModeSimpleProtocol)
		var batch []backend.Completion
		for _, id := range all {
			batch = append(batch, done(r.task(id, "double", `{"value":1}`)))
		}
		r.complete(batch...)
		out, err := r.b.Claim(r.Ctx, 0, r.grant)
		r.took(out, err)
		if in := r.instance(all[0]); in.Status != backend.Failed || in.Failure.Type != "LedgerError" || !strings.Contains(in.Failure.Message, "no such row") {
			t.Errorf("the corrupt one: %+v, %+v", in, in.Failure)
		}
		for _, id := range all[1:] {
			r.complete(done(r.task(id, "double", `{"value":2}`)))
			r.gives(id, "4")
		}
	})
}

// TestCorruptRow checks the same for a corrupt ledger row.
func TestCorruptRow(t *testing.T) {
	r := newRig(t, alone(t, pull.ScanApp), pull.ScanApp)
	corrupted, other := r.submit(chain, `{"n": 1}`), r.submit(chain, `{"n": 1}`)
	const row = "UPDATE ledger SET status = 'completed', done = 1, failure = '7' WHERE instance_id = $1"
	r.Exec(row, corrupted)
	r.complete(done(r.task(other, "double", `{"value":1}`)))
	r.complete(done(r.task(other, "double", `{"value":2}`)))
	r.gives(other, "4")
	if _, err := r.b.Sweep(r.Ctx, 0); err != nil {
		t.Fatal(err)
	}
	if in := r.instance(corrupted); in.Status != backend.Failed || in.Failure.Type != "LedgerError" {
		t.Errorf("the corrupt one: %+v, %+v", in, in.Failure)
	}
}

// TestUnreadableWorkflow checks that instances of a workflow that this process cannot read are not claimed, and that others
// continue.
func TestUnreadableWorkflow(t *testing.T) {
	both(t, func(t *testing.T, cfg postgres.Config, scan pull.Scan) {
		r := newRig(t, cfg, scan)
		r.grant.Max = 0
		resting := r.submit(chain, `{"n": 1}`)
		other := r.submit(strings.ReplaceAll(chain, "double", "echo"), `{"n": 1}`)
		const corrupt = `UPDATE workflows SET definition = '{"nodes": "of a later version"}' WHERE id = (SELECT workflow FROM instances WHERE id = $1)`
		r.Exec(corrupt, resting)
		r.b = open(t, cfg, scan) // which has read none
		r.grant.Max = 10
		for range 2 {
			out, err := r.b.Claim(r.Ctx, 0, r.grant)
			r.took(out, err)
			r.complete(done(r.task(other, "echo", `{"value":1}`)))
		}
		r.gives(other, "1")
		out, err := r.b.Claim(r.Ctx, 0, r.grant)
		if err != nil || len(out.Tasks) > 0 || out.More || r.instance(resting).Status != backend.Running {
			t.Errorf("the resting one is %s, claimed %+v, %v", r.instance(resting).Status, out, err)
		}
	})
}

func TestRowsOfALoop(t *testing.T) {
	r := newRig(t, alone(t, pull.ScanSQL), pull.ScanSQL)
	id := r.submit(`
fn twice(input: [x], output: [y]):
    y = @double(value=x)

fn main(input: [n], output: [out]):
    out = []
    for i in range(n):
        ys = spread [i, 0]:x limit 1 -> twice(x=x)
        z = @echo(value=ys[0])
        try:
            if i % 3 == 0:
                @fail(type="Third", message="m")
        except Third:
            z = @echo(value=0)
        out = out + [z]
`, `{"n": 60}`)
	most := int64(0)
	const rows = "SELECT (SELECT count(*) FROM ledger) + (SELECT count(*) FROM arrivals) + (SELECT count(*) FROM inbox) - (SELECT count(*) FROM inbox WHERE variable IN (SELECT variable FROM inbox WHERE element > 2))"
	for i := 0; len(r.held) > 0; i++ {
		task := r.held[0]
		r.held = r.held[1:]
		r.complete(done(task))
		if i%20 == 0 {
			most = max(most, r.Number(rows))
		}
	}
	if in := r.instance(id); in.Status != backend.Completed {
		t.Fatalf("%+v, %+v", in, in.Failure)
	}
	if t.Logf("at most %d rows", most); most > 40 {
		t.Errorf("%d rows of a loop of a few nodes", most)
	}
}

func TestLargeValueOnce(t *testing.T) {
	both(t, func(t *testing.T, cfg postgres.Config, scan pull.Scan) {
		r := newRig(t, cfg, scan)
		r.submit(`
fn main(input: [n], output: [r]):
    large = @items(count=n)
    r = spread range(100):i -> @echo(value=large)
`, `{"n": 20000}`)
		held := r.held
		r.held = nil
		r.complete(done(held[0]))
		if len(r.held) != 100 || len(r.held[0].Args) < 100_000 {
			t.Fatalf("%d tasks, of %d bytes", len(r.held), len(r.held[0].Args))
		}
		written := r.Number(`SELECT (SELECT coalesce(sum(length(args::text)), 0) + coalesce(sum(length(result::text)), 0) FROM ledger)
			+ (SELECT coalesce(sum(length(args::text)), 0) FROM arrivals) + (SELECT coalesce(sum(length(value::text)), 0) FROM inbox)`)
		if once := int64(len(r.held[0].Args)); written > 2*once+20_000 { // the action's result, and the value
			t.Errorf("%d bytes stand in the tables; the value has %d", written, once)
		}
	})
}

func TestSleepIsARow(t *testing.T) {
	both(t, func(t *testing.T, cfg postgres.Config, scan pull.Scan) {
		r := newRig(t, cfg, scan)
		id := r.submit(`
fn main(input: [n], output: [n]):
    sleep n
`, `{"n": 0.25}`)
		if len(r.held) > 0 {
			t.Fatalf("granted at once: %+v", r.held)
		}
		began := r.Number("SELECT (extract(epoch FROM due_at) * 1e6)::bigint FROM ledger")
		r.b.Close()
		r.b = open(t, cfg, scan)
		for len(r.held) == 0 {
			out, err := r.b.Claim(r.Ctx, 0, r.grant)
			r.took(out, err)
			if len(r.held) > 0 {
				break
			}
			if out.NextDue.IsZero() {
				t.Fatal("nothing is said to become due")
			}
			wait := time.NewTimer(time.Until(out.NextDue))
			select {
			case <-wait.C:
			case <-r.Ctx.Done():
				t.Fatal("the sleep is never over")
			}
		}
		if early := r.Number("SELECT $1 - (extract(epoch FROM clock_timestamp()) * 1e6)::bigint", began); early > 0 {
			t.Errorf("claimed %d µs early", early)
		}
		if task := r.held[0]; task.Action != "" || string(task.Args) != "{}" {
			t.Errorf("the task is %+v", task)
		}
		r.complete(done(r.held[0]))
		r.gives(id, "0.25")
	})
}

func TestManyNewWorkflows(t *testing.T) {
	both(t, func(t *testing.T, cfg postgres.Config, scan pull.Scan) {
		const many = 12
		r := newRig(t, cfg, scan)
		r.grant.Max = 0
		for i := range many {
			r.submit(chain+strings.Repeat("    r = @echo(value=r)\n", i), `{"n": 1}`)
		}
		r.b, r.grant.Max = open(t, cfg, scan), many
		out, err := r.b.Claim(r.Ctx, 0, r.grant)
		if r.took(out, err); len(r.held) != many {
			t.Errorf("%d tasks of %d", len(r.held), many)
		}
	})
}
