package chaos

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/chaos/fault"
	"pulley/chaos/process"
	"pulley/engine/backend"
	"pulley/engine/oracle"
	"pulley/internal/pause"
	"pulley/reports/record"
)

var (
	//go:embed sql/sizes.sql
	sizesSQL string
	//go:embed sql/connections.sql
	connectionsSQL string
	//go:embed sql/schema.sql
	schemaSQL string
	//go:embed sql/clear.sql
	clearSQL string
)

// What a soak goes by.
const (
	soakSamples = 360             // over its length, about
	soakClear   = 2 * time.Second // between two times that ended instances are cleared
	soakMax     = 1.1             // the last window's median may be so many times the first's
)

// growth stands for an invariant in violations: what must not grow grew.
const growth = "growth"

// soak samples what may grow, and clears ended instances as a user would.
type soak struct {
	*run
	series  map[string]*record.SoakSeries
	cleared int
}

// sampleLoop samples and clears until ctx ends.
func (s *soak) sampleLoop(ctx context.Context) {
	every := min(5*time.Second, max(200*time.Millisecond, time.Duration(s.LastMS)*time.Millisecond/soakSamples))
	cleared := time.Now()
	for range pause.Ticks(ctx, every) {
		step, cancel := context.WithTimeout(ctx, s.Call())
		s.sample(step)
		if time.Since(cleared) >= soakClear {
			s.clear(step)
			cleared = time.Now()
		}
		cancel()
	}
}

// add takes in one value; ok is false where it could not be had.
func (s *soak) add(at float64, name, unit string, v float64, ok bool) {
	one := s.series[name]
	if one == nil {
		one = &record.SoakSeries{Name: name, Unit: unit}
		s.series[name] = one
	}
	one.AtS = append(one.AtS, at)
	if !ok {
		one.Values = append(one.Values, nil)
		return
	}
	one.Values = append(one.Values, &v)
}

// The series that are judged.
const (
	seriesMemory      = "memory of engine 0"
	seriesGoroutines  = "goroutines of engine 0"
	seriesConnections = "connections of all engines"
	seriesTables      = "tables"
	seriesIndexes     = "indexes"
)

// bounded are the series that must not grow, and by how much each goes up and down with the load, however long a soak lasts. What
// grows with every instance or with time is soon above that: in a soak of 90 seconds there are some 100,000 completions.
var bounded = []struct {
	name  string
	sways float64
}{
	{seriesMemory, 8 * mebibyte}, {seriesGoroutines, 8}, {seriesConnections, 2}, {seriesTables, mebibyte}, {seriesIndexes, mebibyte},
}

const (
	bytesUnit = "bytes"
	mebibyte  = 1 << 20
)

func (s *soak) sample(ctx context.Context) {
	at := float64(oracle.MachineClock()-s.steady) / 1e9
	for i := range s.world.Engines() {
		rss, ok := residentBytes(s.world.Process(i).PID())
		s.add(at, fmt.Sprintf("memory of engine %d", i), bytesUnit, rss, ok)
		g, ok := s.watch.gauge(i)
		s.add(at, fmt.Sprintf("goroutines of engine %d", i), "", float64(g), ok)
	}
	conn, err := s.world.Admin(ctx)
	if err != nil {
		return // the server may be down
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var n float64
	err = conn.QueryRow(ctx, connectionsSQL, fault.Application).Scan(&n)
	s.add(at, seriesConnections, "", n, err == nil)
	rows, err := conn.Query(ctx, sizesSQL)
	if err != nil {
		return
	}
	type size struct {
		Name           string
		Table, Indexes float64
	}
	sizes, err := pgx.CollectRows(rows, pgx.RowToStructByPos[size])
	if err != nil {
		return
	}
	var tables, indexes float64
	for _, one := range sizes {
		tables, indexes = tables+one.Table, indexes+one.Indexes
		s.add(at, "table "+one.Name, bytesUnit, one.Table, true)
		s.add(at, "indexes of "+one.Name, bytesUnit, one.Indexes, true)
	}
	s.add(at, seriesTables, bytesUnit, tables, true)
	s.add(at, seriesIndexes, bytesUnit, indexes, true)
}

// residentBytes is the memory that a process has now, where the system tells.
func residentBytes(pid int) (float64, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return float64(pages) * float64(os.Getpagesize()), err == nil && pages > 0
}

// clear reads instances that ended some time ago once more, and removes them.
func (s *soak) clear(ctx context.Context) {
	ids := s.load.removeEnded(time.Now().Add(-s.Retained()))
	for len(ids) > 0 {
		n := min(len(ids), lookupBatch)
		if err := s.clearBatch(ctx, ids[:n]); err != nil {
			s.load.returnEnded(ids) // the server may be down
			return
		}
		ids = ids[n:]
	}
}

func (s *soak) clearBatch(ctx context.Context, ids []uuid.UUID) error {
	found, err := s.store.Lookup(ctx, ids)
	if err != nil {
		return err
	}
	s.recordLookups(ids, found)
	conn, err := s.world.Admin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var schema string
	if err := conn.QueryRow(ctx, schemaSQL).Scan(&schema); err != nil {
		return err
	}
	tag, err := conn.Exec(ctx, clearSQL, ids)
	if err != nil {
		return err
	}
	s.cleared += int(tag.RowsAffected())
	s.load.removeInstances(ids)
	return nil
}

// recordLookups records how instances stand that must have ended. Of those that the history does not have, one that has
// not is a violation at once.
func (r *run) recordLookups(ids []uuid.UUID, found []backend.Instance) {
	for i, in := range found {
		in.ID = ids[i] // of an unknown one too
		if r.watch.isRecorded(in.ID.String()) {
			r.record(process.InstanceEvent(oracle.LookedUp, in))
		} else if in.Status == backend.Running || in.Status == "" {
			r.result.Violations = append(r.result.Violations, Violation{
				Invariant: "I8", Message: fmt.Sprintf("instance %s was acknowledged, and its status is %q in the end", in.ID, in.Status),
			})
		}
	}
}

// judge holds the end of each series against its begin.
func (s *soak) judge() *record.Soak {
	length := float64(s.LastMS) / 1000
	isSteady, long := s.Windows()
	out := &record.Soak{
		EveryS: length / soakSamples,
		Method: fmt.Sprintf("Over %.0f s of load, with faults. The first %.0f s are left out; begin and end are medians over the %.0f s after them and over the "+
			"last %.0f s. What is judged may end %.0f %% above its begin, and by so much more as it goes up and down with the load (%s). The first fault of each kind is a long one. Engine 0 lives through the whole run; %d instances were removed %v after they had ended. %s",
			length, isSteady, long, long, 100*(soakMax-1), swayText(), s.cleared, s.Retained(), s.VacuumPauseText()),
	}
	names := slices.Sorted(maps.Keys(s.series))
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	for _, name := range names {
		one := s.series[name]
		out.Series = append(out.Series, *one)
		begin, first := window(one, isSteady, isSteady+long)
		end, last := window(one, length-long, length)
		g := record.Growth{Name: name, Unit: one.Unit, Begin: begin, End: end, Judged: rank(name) < len(bounded)}
		most := soakMax * begin
		if g.Judged {
			most += bounded[rank(name)].sways
		}
		g.Within = end <= most
		out.Growth = append(out.Growth, g)
		switch {
		case g.Judged && !(first && last):
			s.result.doubt("growth: of %s there are too few samples", name)
		case g.Judged && !g.Within:
			s.result.Violations = append(s.result.Violations, Violation{
				Invariant: growth, Message: fmt.Sprintf("%s: %.0f at the begin, %.0f at the end %s", name, begin, end, one.Unit),
			})
		}
	}
	return out
}

// swayText words by how much each of the judged series may sway.
func swayText() string {
	var texts []string
	for _, one := range bounded {
		amount := fmt.Sprintf("%.0f", one.sways)
		if one.sways >= mebibyte {
			amount = fmt.Sprintf("%.0f MiB", one.sways/mebibyte)
		}
		texts = append(texts, one.name+" "+amount)
	}
	return strings.Join(texts, ", ")
}

// rank is a series' place among the judged ones, their number if it is none.
func rank(name string) int {
	for i, one := range bounded {
		if one.name == name {
			return i
		}
	}
	return len(bounded)
}

// window is the median of a series from one time to another.
func window(s *record.SoakSeries, from, to float64) (median float64, ok bool) {
	var values []float64
	for i, at := range s.AtS {
		if at >= from && at <= to && s.Values[i] != nil {
			values = append(values, *s.Values[i])
		}
	}
	if len(values) == 0 {
		return 0, false
	}
	slices.Sort(values)
	return values[len(values)/2], true
}
