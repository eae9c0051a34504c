package ceiling

import (
	"cmp"
	"context"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pulley/internal/depth"
	"pulley/internal/pgtest"
	"pulley/reports/record"
)

func lot(t *testing.T, design string) *scratch {
	t.Helper()
	s := &scratch{dsn: pgtest.DSN(t), design: design, schema: pgtest.Schema(t)}
	t.Cleanup(func() {
		if err := s.drop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := s.open(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	return s
}

func filled(t *testing.T, s *scratch, way string, batch int) writer {
	t.Helper()
	return shaped(t, s, way, batch, 0)
}

func shaped(t *testing.T, s *scratch, way string, batch, nodes int) writer {
	t.Helper()
	return written(t, s, way, batch, shape{nodes: nodes, writes: FanOut(cmp.Or(nodes, fanOutWidth))})
}

func graphed(t *testing.T, s *scratch, way string, batch int, writes record.InstanceWrites) writer {
	t.Helper()
	return written(t, s, way, batch, shape{writes.Nodes, writes, true})
}

func written(t *testing.T, s *scratch, way string, batch int, of shape) writer {
	t.Helper()
	w, err := open(t.Context(), s, &point{way: way, batch: batch, shape: of}, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.close(context.Background()) })
	if err := w.fill(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestTheFourWrites(t *testing.T) {
	s := lot(t, pushDesign)
	for way, batch := range map[string]int{record.CeilingStatements: 1, record.CeilingCall: 1, record.CeilingBatched: 125} {
		if err := s.empty(t.Context()); err != nil {
			t.Fatal(err)
		}
		w := filled(t, s, way, batch)
		for range 250 / batch {
			if err := w.call(t.Context()); err != nil {
				t.Fatalf("%s: %v", way, err)
			}
		}
		if err := s.check(t.Context(), tally{completions: 250, queued: 1000, elements: 250, raises: 250}); err != nil {
			t.Errorf("%s: %v", way, err)
		}
		for what, want := range map[string]int64{
			"SELECT count(*) FROM readiness WHERE completed = 100 AND required = 100": 2,
			"SELECT count(*) FROM readiness WHERE completed = 50":                     1,
			"SELECT count(DISTINCT instance_id) FROM elements":                        3,
			"SELECT count(*) FROM inbox":                                              0,
			"SELECT count(DISTINCT (instance_id, place)) FROM elements, unnest(places, vals) AS e (place, val) WHERE octet_length(val::text) = 64": 250,
			"SELECT count(*) FROM queue q JOIN elements e USING (shard, instance_id) WHERE q.path = ANY (e.places::text[])":                        0,
			"SELECT min(token) FROM queue": 251,
		} {
			var got int64
			if err := s.conn.QueryRow(t.Context(), what).Scan(&got); err != nil || got != want {
				t.Errorf("%s: %s: %d, %v; want %d", way, what, got, err, want)
			}
		}
		w.close(t.Context())
	}
}

func TestAppendedEqualsCopied(t *testing.T) {
	var tables []string
	for _, way := range []string{record.CeilingAppend, record.CeilingCopy} {
		s := lot(t, journalDesign)
		w := filled(t, s, way, 30)
		for range 7 {
			if err := w.call(t.Context()); err != nil {
				t.Fatalf("%s: %v", way, err)
			}
		}
		if err := s.check(t.Context(), tally{completions: 210}); err != nil {
			t.Errorf("%s: %v", way, err)
		}
		var text string
		if err := s.conn.QueryRow(t.Context(), "SELECT string_agg(e::text, E'\\n' ORDER BY seq) FROM events e").Scan(&text); err != nil {
			t.Fatal(err)
		}
		if rows := strings.Count(text, "\n") + 1; rows != 210 {
			t.Errorf("%s: %d rows", way, rows)
		}
		tables = append(tables, text)
	}
	if tables[0] != tables[1] {
		t.Errorf("appended:\n%.300s\ncopied:\n%.300s", tables[0], tables[1])
	}
}

// A call must fail when a guard refuses its write, or when it writes less than it reports.
func TestWhatDoesNotWriteIsAnError(t *testing.T) {
	for way, design := range map[string]string{
		record.CeilingStatements: pushDesign, record.CeilingCall: pushDesign, record.CeilingBatched: pushDesign, record.CeilingAppend: journalDesign,
		record.CeilingPacked: journalDesign, record.CeilingCopy: journalDesign,
	} {
		s := lot(t, design)
		batch := 1
		if ways[way].groups {
			batch = 10
		}
		w := filled(t, s, way, batch)
		if err := w.call(t.Context()); err != nil {
			t.Fatalf("%s: %v", way, err)
		}
		fence := "UPDATE queue SET token = -1 WHERE token = 11"
		if batch == 10 {
			fence = "UPDATE queue SET token = -1 WHERE token = 20"
		}
		if design == journalDesign {
			fence = "UPDATE shards SET epoch = epoch + 1"
		}
		if err := s.run(t.Context(), fence); err != nil {
			t.Fatal(err)
		}
		var err error
		for range 10 {
			if err = w.call(t.Context()); err != nil {
				break
			}
		}
		if err == nil || !strings.Contains(err.Error(), "instead of") {
			t.Errorf("%s: a completion that was fenced off is counted: %v", way, err)
		}
	}
}

type liar struct {
	writer
	lie tally
}

func (l liar) tally() tally {
	t := l.writer.tally()
	t.add(l.lie)
	return t
}

func TestRowsAreCounted(t *testing.T) {
	for way, design := range map[string]string{record.CeilingBatched: pushDesign, record.CeilingCopy: journalDesign} {
		s := lot(t, design)
		w := shaped(t, s, way, 10, 7)
		if _, err := race(t.Context(), []writer{w}, MinDuration); err != nil {
			t.Fatal(err)
		}
		if err := s.check(t.Context(), w.tally()); err != nil {
			t.Error(err)
		}
		for what, lie := range map[string]tally{
			"an event": {completions: 1}, "an instance that began": {running: 1}, "an instance that ended": {ended: 1}, "a run": {queued: 1},
			"a value": {values: 1}, "an element": {elements: 1}, "a raise": {raises: 1},
		} {
			err := s.check(t.Context(), liar{w, lie}.tally())
			ofJournal := lie.completions > 0
			ofPush := lie.queued+lie.values+lie.elements+lie.raises > 0
			if none := ofPush && design == journalDesign || ofJournal && design == pushDesign; !none && (err == nil || !strings.Contains(err.Error(), "worth nothing")) {
				t.Errorf("%s: %s that was never written is not missed: %v", way, what, err)
			}
		}
	}
}

// A call must read one row per completion, however long the queue is.
func TestRowsAreFoundByTheirKeys(t *testing.T) {
	s := lot(t, pushDesign)
	const batch = 100
	w := filled(t, s, record.CeilingBatched, batch).(*batched)
	w.next, w.depth = w.depth, depth.Of(int64(5_000), 50_000)
	if err := w.fill(t.Context()); err == nil {
		t.Fatal("the same runs are queued twice")
	}
	if err := s.empty(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.next = 0
	if err := w.fill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.plain(t.Context(), "begin"); err != nil {
		t.Fatal(err)
	}
	if err := w.call(t.Context()); err != nil {
		t.Fatal(err)
	}
	var read int64
	const counted = "SELECT sum(idx_tup_fetch + seq_tup_read)::bigint FROM pg_stat_xact_user_tables WHERE schemaname = $1"
	if err := w.conn.QueryRow(t.Context(), counted, s.schema).Scan(&read); err != nil {
		t.Fatal(err)
	}
	if read < batch || read > 2*batch {
		t.Errorf("%d completions read %d rows", batch, read)
	}
	if err := w.plain(t.Context(), "commit"); err != nil {
		t.Fatal(err)
	}
}

// clockwork's calls take a known virtual time.
type clockwork struct {
	writer
	size       int64
	first, per time.Duration
	fails      int
	calls      atomic.Int64
	last       time.Time
}

var errBroken = errors.New("broken")

func (c *clockwork) batch() int64 { return c.size }

func (c *clockwork) call(ctx context.Context) error {
	n := c.calls.Add(1)
	if int(n) == c.fails {
		return errBroken
	}
	takes := c.per
	if n == 1 {
		takes = c.first
	}
	timer := time.NewTimer(takes)
	defer timer.Stop()
	select {
	case <-timer.C:
		c.last = time.Now()
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Warm-up must not count, calls must count whole, and no writer may stop before the last one has its figure.
func TestRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quick := &clockwork{size: 10, first: 70 * time.Millisecond, per: time.Millisecond}
		slow := &clockwork{size: 1000, first: time.Millisecond, per: 330 * time.Millisecond}
		begin := time.Now()
		got, err := race(t.Context(), []writer{quick, slow}, time.Second)
		if want := 10/0.001 + 1000/0.330; err != nil || math.Abs(got/want-1) > 1e-9 {
			t.Errorf("%v per second, %v; want %v", got, err, want)
		}
		if gap := slow.last.Sub(quick.last); gap > quick.per || slow.last.Sub(begin) <= 1250*time.Millisecond {
			t.Errorf("the quick one wrote until %s, the slow one until %s", quick.last.Sub(begin), slow.last.Sub(begin))
		}
	})
}

func TestAFailureEndsTheRace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, fails := range []int{1, 40, 300, 1300} {
			sound := &clockwork{size: 1, first: time.Millisecond, per: time.Millisecond}
			stuck := &clockwork{size: 1, first: time.Hour, per: time.Hour}
			broken := &clockwork{size: 1, first: time.Millisecond, per: time.Millisecond, fails: fails}
			begin := time.Now()
			if _, err := race(t.Context(), []writer{sound, stuck, broken}, time.Second); !errors.Is(err, errBroken) {
				t.Errorf("call %d fails: %v", fails, err)
			}
			if took := time.Since(begin); took > 2*time.Second {
				t.Errorf("call %d fails: it took %s", fails, took)
			}
		}
	})
}
