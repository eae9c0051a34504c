package journal

import (
	"fmt"
	"strings"
	"testing"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
)

func TestMemoryBound(t *testing.T) {
	w := newWorld(t, 1)
	w.cfg.Memory = 1 << 20
	b := w.open()
	const instances, large = 200, 16 << 10
	wf := backendtest.Workflow{Name: "large", Input: fmt.Sprintf(`{"v": %q}`, strings.Repeat("x", large)), Want: fmt.Sprint(large), Source: `
fn main(input: [v], output: [n]):
    a = @noop()
    n = @echo(value=len(v))
`}
	p := wf.Program(t)
	most := 0
	look := func() {
		s, err := b.Stats(w.ctx)
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, s.Bytes)
	}
	for range instances / 10 {
		var subs []backend.Submission
		for range 10 {
			subs = append(subs, w.instance(wf, p))
		}
		out, err := b.Submit(w.ctx, subs, granted(0))
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range out.Outcomes {
			if o.Answer != backend.Applied {
				t.Fatalf("answered %+v", o)
			}
		}
		if _, err := b.Claim(w.ctx, 0, granted(0)); err != nil {
			t.Fatal(err)
		}
		look()
	}
	if n := w.number(b, "SELECT count(*) FROM instances WHERE pending"); n == 0 {
		t.Error("inconclusive: there was room for all")
	}
	var held []backend.Task
	for ended := 0; ended < instances; look() {
		if len(held) == 0 {
			held = w.claimed(b)
		}
		out := w.complete(b, ran(held[0]))
		held = append(held[1:], out.Tasks...)
		ended += len(out.Ended)
	}
	if limit := w.cfg.Memory + adoptMax*(large+4096); most > limit || most < w.cfg.Memory/2 {
		t.Errorf("the instances took %d bytes at most; want up to %d", most, limit)
	}
	w.finish(b)
	if s, err := b.Stats(w.ctx); err != nil || s.Instances != 0 || s.Bytes != 0 || s.Broken != 0 {
		t.Errorf("at the end there is %+v (%v)", s, err)
	}
}
