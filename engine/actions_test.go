package engine

import (
	"testing"

	"pulley/engine/dispatch"
)

func TestActionsOnPages(t *testing.T) {
	a := actions{pages: map[dispatch.TaskID]*actionPage{}}
	plain := map[dispatch.TaskID]*actionContext{}
	for i := range dispatch.TaskID(2000) {
		id := i + 1
		plain[id] = a.add(t.Context(), id)
		if over := i * 7 % 2000; plain[over] != nil {
			a.remove(over)
			delete(plain, over)
		}
		if i%97 == 0 {
			for id := range i + 20 {
				if got := a.get(id); got != plain[id] {
					t.Fatalf("after %d begins, task %d has context %p, want %p", i+1, id, got, plain[id])
				}
			}
		}
	}
	first := plain
	for id := range first {
		a.remove(id)
		if a.get(id) != nil {
			t.Fatalf("task %d has ended and is still there", id)
		}
	}
	if len(a.pages) != 0 {
		t.Errorf("%d pages are left of tasks that have ended", len(a.pages))
	}
}

func TestActionsAreAllocatedTogether(t *testing.T) {
	a := actions{pages: map[dispatch.TaskID]*actionPage{}}
	id, ctx := dispatch.TaskID(0), t.Context()
	perRun := testing.AllocsPerRun(100, func() {
		for range 10 * pageActions {
			id++
			a.add(ctx, id)
			a.remove(id)
		}
	})
	if perRun > 10 {
		t.Errorf("%v allocations for %d tasks", perRun, 10*pageActions)
	}
}
