package explore

import (
	"strings"
	"testing"

	"pulley/internal/depth"
	"pulley/sim/db"
)

// testNoticed wants differences that are planted between the simulated server and Postgres to be noticed. Before each change those
// are looked for that are in the first cases.
func testNoticed(t *testing.T, design shadowedDesign, differences []noticeable) {
	p, d := newOnPostgres(t, design), &drawn{}
	for _, c := range differences {
		if c.now() {
			t.Run(c.what, func(t *testing.T) { c.noticed(t, p, d) })
		}
	}
}

// onStore is a change of what a design has on the server.
func onStore[S store](change func(*world, S) bool) func(*world) bool {
	return func(w *world) bool { return change(w, w.store.(S)) }
}

// noticeable is a difference that is planted.
type noticeable struct {
	what, want string // is in what it is noticed by
	plant      func(*world) bool
	bug        string
	from       uint64 // the case in which it is, or one before
}

// now says whether it is looked for in this run: what is further on than the first cases is for the night.
func (c noticeable) now() bool { return c.from == 0 || depth.Night() }

// noticed wants it to be.
func (c noticeable) noticed(t *testing.T, p *onPostgres, d *drawn) {
	const most = 4096
	for seed := c.from; seed < c.from+most; seed++ {
		if c.bug != "" && hashOf(t, p, d, seed, c.bug) == hashOf(t, p, d, seed, "") {
			continue // it does not come to that
		}
		p.every, p.plant = 1, nil
		if c.plant != nil {
			p.plant = func() bool { return c.plant(p.w) }
		}
		err := shadowed(t, p, d, seed, c.bug)
		if err == nil {
			continue
		}
		if first, _, _ := strings.Cut(err.Error(), "\nafter:"); !strings.Contains(first, c.want) {
			t.Errorf("noticed by another difference: %v", err)
		}
		t.Logf("noticed in case %d", seed)
		return
	}
	t.Errorf("not noticed in %d cases", most)
}

// hashOf plays a world by itself.
func hashOf(t *testing.T, p *onPostgres, d *drawn, seed uint64, bug string) string {
	w, all := shadowWorld(t, d, p.design, seed, bug)
	defer all.rest()
	w.play()
	return w.result.Hash
}

type tampering func(*db.Exec) error

// Run implements db.Statement.
func (t tampering) Run(x *db.Exec) error { return t(x) }

// planted changes the first row of a table that is simulated, and says whether there was one that nobody is at.
func planted[K, V any](w *world, table *db.Table[K, V], change func(V) V) bool {
	changed, yield := false, w.server.Yield
	w.server.Yield = nil
	session := w.server.Open(0)
	session.Execute([]db.Statement{tampering(func(x *db.Exec) (err error) {
		var first *db.Version[K, V]
		table.All(x, func(v *db.Version[K, V]) bool {
			first = v
			return false
		})
		if first != nil {
			changed, err = table.Update(x, first, db.NoKeyUpdate, change(first.Value))
		}
		return err
	})}, nil)
	session.Run()
	session.End()
	w.server.Yield = yield
	return changed
}
