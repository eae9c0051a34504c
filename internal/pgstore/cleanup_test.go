package pgstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

type cleaned struct {
	Pool
	of       map[string][]string // instances by statement
	unsorted int                 // with unsorted instances
	failed   error
	count    int           // statements
	takes    time.Duration // per statement
}

func (c *cleaned) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if err := errors.Join(c.failed, ctx.Err()); err != nil {
		return pgconn.CommandTag{}, err
	}
	c.count++
	time.Sleep(c.takes)
	ids, _ := args[1].([][16]byte) // the overdue statement has none
	if !slices.IsSortedFunc(ids, func(a, b [16]byte) int { return bytes.Compare(a[:], b[:]) }) {
		c.unsorted++
	}
	for _, id := range ids {
		c.of[sql] = append(c.of[sql], fmt.Sprintf("%d %d", args[0], int(id[0])<<8|int(id[1])))
	}
	return pgconn.NewCommandTag("DELETE 0"), nil
}

type kept struct {
	Machine
	jobs []func()
}

func (k *kept) Go(job func()) { k.jobs = append(k.jobs, job) }

func newCleaned(shards int) (*cleaned, *kept, *Sweeper, *[]error) {
	pool, clock, problems := &cleaned{of: map[string][]string{}}, &kept{}, &[]error{}
	store := On(Host{Pool: pool, Clock: clock, Shards: shards, Problem: func(err error) { *problems = append(*problems, err) }})
	return pool, clock, NewSweeper(store, &Cleanup{queue: &Queue{statements: map[string]string{"overdue": "overdue"}}, tables: []string{"rows"}, markCleaned: "mark"}), problems
}

func numbered(from, to int) (ids [][16]byte) {
	for i := from; i < to; i++ {
		ids = append(ids, [16]byte{byte(i >> 8), byte(i)})
	}
	return ids
}

// TestCleanupIsBounded checks that one goroutine cleans up as many instances as the queue takes, each once and sorted by id, and
// then others.
func TestCleanupIsBounded(t *testing.T) {
	pool, clock, s, problems := newCleaned(2)
	ids := numbered(0, cleanupQueueMax+50)
	slices.Reverse(ids[:cleanupQueueMax/2])
	s.CleanInBackground(0, ids[:cleanupQueueMax/2]...)
	s.CleanInBackground(1, ids[cleanupQueueMax/2:]...)
	if len(clock.jobs) != 1 {
		t.Fatalf("%d goroutines; want one", len(clock.jobs))
	}
	clock.jobs[0]()
	for _, sql := range []string{"rows", "mark"} {
		if got := pool.of[sql]; len(got) != cleanupQueueMax {
			t.Errorf("%s: %d instances; want %d", sql, len(got), cleanupQueueMax)
		} else if slices.Sort(got); len(slices.Compact(got)) != cleanupQueueMax {
			t.Errorf("%s: some instances twice", sql)
		}
	}
	if pool.unsorted > 0 {
		t.Errorf("%d statements have instances that are not in the order of their ids, in which completions lock", pool.unsorted)
	}
	s.CleanInBackground(0, numbered(5000, 5001)...)
	if len(clock.jobs) != 2 {
		t.Fatalf("%d goroutines after another end; want one more", len(clock.jobs))
	}
	clock.jobs[1]()
	if got := pool.of["mark"]; len(got) != cleanupQueueMax+1 || len(*problems) > 0 {
		t.Errorf("%d instances, problems %v; want one more, and none", len(got), *problems)
	}
	if most := 2 * (cleanupQueueMax/SweepInstances + 1 + 1); pool.count > most { // each of two shards may end with a part of a hundred
		t.Errorf("%d statements for %d instances; want at most %d", pool.count, cleanupQueueMax+1, most)
	}
	s.Close()
}

type canceled struct {
	*cleaned
	left [][16]byte
}

func (c *canceled) Query(_ context.Context, _ string, args ...any) (pgx.Rows, error) {
	c.count++
	time.Sleep(c.takes)
	n := min(len(c.left), args[1].(int))
	rows := &ids{list: c.left[:n]}
	c.left = c.left[n:]
	return rows, nil
}

type ids struct {
	pgx.Rows
	list [][16]byte
	at   int
}

func (r *ids) Next() bool { r.at++; return r.at <= len(r.list) }
func (r *ids) Scan(to ...any) error {
	*to[0].(*[16]byte) = r.list[r.at-1]
	return nil
}
func (*ids) Err() error { return nil }
func (*ids) Close()     {}

// TestSweepsOfABurstRest checks that sweeps of ten thousand cancelled instances take a bounded number of statements per hundred,
// and a sixth of the time; and that a sweep of few does not pause.
func TestSweepsOfABurstRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const burst, takes = 10_000, 5 * time.Millisecond
		pool, _, s, _ := newCleaned(1)
		pool.takes = takes
		all := &canceled{cleaned: pool, left: numbered(0, burst+1)}
		s.store.Pool = all
		sweep := func() (more bool, took time.Duration) {
			from := time.Now()
			swept, err := s.Sweep(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			return swept.More, time.Since(from)
		}
		from := time.Now()
		for more := true; more; more, _ = sweep() {
		}
		const statements = 4 // overdue leases, instances that need cleanup, the table's rows, the mark
		if most := statements * (burst/SweepInstances + 1); pool.count > most || len(all.left) > 0 {
			t.Errorf("%d statements for %d instances, %d of which are left; want at most %d, and none", pool.count, burst, len(all.left), most)
		}
		busy := time.Duration(pool.count) * takes
		if all := time.Since(from); busy > all/5 || busy < all/7 {
			t.Errorf("%v of %v are spent with statements; want a sixth", busy, all)
		}
		all.left = numbered(0, SweepInstances-1)
		for range 2 { // the first may include the rest of the burst
			if _, took := sweep(); len(all.left) > 0 || took > statements*takes {
				t.Errorf("a sweep of few takes %v; want no rest", took)
			}
		}
	})
}

func TestCleanupThatFails(t *testing.T) {
	pool, clock, s, problems := newCleaned(2)
	pool.failed = errors.New("the store is gone")
	s.CleanInBackground(0, numbered(0, 500)...)
	s.CleanInBackground(1, numbered(500, 800)...)
	clock.jobs[0]()
	if len(*problems) != 1 || !errors.Is((*problems)[0], pool.failed) {
		t.Errorf("problems: %v; want one", *problems)
	}
	pool.failed = nil
	s.CleanInBackground(1, numbered(900, 901)...)
	clock.jobs[1]()
	if got := pool.of["mark"]; len(got) != 1 || got[0] != "1 900" {
		t.Errorf("cleaned up after an error: %v; want what ended since", got)
	}
	s.CleanInBackground(0, numbered(0, 10)...)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		s.Close()
	}()
	<-s.background.Done()
	clock.jobs[2]()
	<-closed
	s.CleanInBackground(0, numbered(20, 30)...)
	if got := pool.of["mark"]; len(got) != 1 || len(clock.jobs) != 3 || len(*problems) != 1 {
		t.Errorf("after Close: %d instances, %d goroutines, problems %v; want nothing more", len(got), len(clock.jobs), *problems)
	}
}

func TestCloseWaitsForTheCleanup(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		_, clock, s, _ := newCleaned(1)
		s.CleanInBackground(0, numbered(0, 1)...)
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			s.Close()
		}()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("it is closed before the cleanup has ended")
		default:
		}
		clock.jobs[0]()
		<-closed
	})
}

type listed struct {
	*cleaned
	asked int
}

func (l *listed) Query(context.Context, string, ...any) (pgx.Rows, error) {
	l.asked++
	return nil, errors.New("there is nothing to list")
}

// TestSweepWaitsForTheCleanup checks that a sweep waits for a cleanup: each would skip the other's locked rows, and neither would
// find the instance empty.
func TestSweepWaitsForTheCleanup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool, _, s, _ := newCleaned(1)
		all := &listed{cleaned: pool}
		s.store.Pool = all
		if err := s.acquireTurn(t.Context()); err != nil {
			t.Fatal(err)
		}
		swept := make(chan struct{})
		go func() {
			defer close(swept)
			_, _ = s.Sweep(t.Context(), 0) // fails, by the list
		}()
		synctest.Wait()
		if all.asked != 0 {
			t.Error("a sweep goes beside a cleanup")
		}
		s.releaseTurn()
		<-swept
		if all.asked != 1 {
			t.Errorf("behind the cleanup, the sweep lists instances %d times; want once", all.asked)
		}
	})
}
