package shadow

import (
	"strings"
	"testing"

	"pulley/internal/depth"
	"pulley/sim/cases"
	"pulley/sim/db"
	"pulley/sim/world"
)

// TestNoticed checks that planted differences between the simulated server and Postgres are noticed. Only those found in the
// first cases are planted before each change; the others at night.
func TestNoticed(t *testing.T, design Design, differences []Difference) {
	p, d := newPostgres(t, design), &cases.Programs{}
	for _, c := range differences {
		if c.now() {
			t.Run(c.What, func(t *testing.T) { c.noticed(t, p, d) })
		}
	}
}

// On adapts a change of a design's store.
func On[S world.Store](change func(*world.World, S) bool) func(*world.World) bool {
	return func(w *world.World) bool { return change(w, w.Store.(S)) }
}

// Difference is a planted difference.
type Difference struct {
	What, Want string // a part of the difference by which it is noticed
	Plant      func(*world.World) bool
	Bug        string
	From       uint64 // the case that shows it, or an earlier one
}

// now reports whether this run plants it.
func (c Difference) now() bool { return c.From == 0 || depth.Night() }

func (c Difference) noticed(t *testing.T, p *Postgres, d *cases.Programs) {
	const most = 4096
	for seed := c.From; seed < c.From+most; seed++ {
		if c.Bug != "" && hashOf(t, p, d, seed, c.Bug) == hashOf(t, p, d, seed, "") {
			continue
		}
		p.every, p.plant = 1, nil
		if c.Plant != nil {
			p.plant = func() bool { return c.Plant(p.w) }
		}
		err := shadowed(t, p, d, seed, c.Bug)
		if err == nil {
			continue
		}
		if first, _, _ := strings.Cut(err.Error(), "\nafter:"); !strings.Contains(first, c.Want) {
			t.Errorf("noticed by another difference: %v", err)
		}
		t.Logf("noticed in case %d", seed)
		return
	}
	t.Errorf("not noticed in %d cases", most)
}

func hashOf(t *testing.T, p *Postgres, d *cases.Programs, seed uint64, bug string) string {
	w, all := shadowWorld(t, d, p.design, seed, bug)
	defer all.Release()
	w.Play()
	return w.Result.Hash
}

type tampering func(*db.Exec) error

func (t tampering) Run(x *db.Exec) error { return t(x) }

// Planted changes the first row of a simulated table. It returns false if there is none or it is locked.
func Planted[K, V any](w *world.World, table *db.Table[K, V], change func(V) V) bool {
	changed, yield := false, w.Server.Yield
	w.Server.Yield = nil
	session := w.Server.Open(0)
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
	w.Server.Yield = yield
	return changed
}
