package journal

import (
	"context"
	"strings"
	"testing"

	"pulley/engine/backend"
)

func TestStatements(t *testing.T) {
	for line := range strings.Lines(appendSQL) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "--[ "); ok && partNeeded[name] == nil {
			t.Errorf("append.sql has a part %q that nobody knows", name)
		}
	}
	w := newWorld(t, 1)
	b := w.open()
	conn, err := b.store.Pool.(pool).Acquire(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	seen := map[string]kinds{}
	for k := kinds(0); ; k++ {
		meant := (k&eventKinds == 0 || k&events != 0) && (k&endKinds == 0 || k&ends != 0) && (k&(creationKinds|skipExisting) == 0 || k&creations != 0)
		if s := statements[k](); meant {
			if other, there := seen[s.sql]; there {
				t.Errorf("kinds %b and %b have one statement", k, other)
			}
			seen[s.sql] = k
			if _, err := conn.Conn().PgConn().Prepare(context.Background(), s.name, s.sql, nil); err != nil {
				t.Errorf("kinds %b: %v\n%s", k, err, s.sql)
			}
		}
		if k == everything {
			return
		}
	}
}

func TestSubmitsWhatHasEnded(t *testing.T) {
	w := newWorld(t, 1)
	b := w.open()
	w.complete(b, ran(w.launch(b, alone)[0]))
	subs := []backend.Submission{w.subs[0], w.instance(alone, w.subs[0].Program)}
	out, err := b.Submit(w.ctx, subs, granted(10))
	if err != nil || out.Outcomes[0].Answer != backend.Duplicate || out.Outcomes[1].Answer != backend.Applied {
		t.Fatalf("Submit: %+v, %v; want a duplicate, and one that is not", out.Outcomes, err)
	}
	if len(out.Tasks) != 1 || out.Tasks[0].Lease.Key.Instance != subs[1].ID {
		t.Errorf("tasks %+v; want one, of the new instance", out.Tasks)
	}
	w.complete(b, ran(out.Tasks[0]))
	w.finish(b)
}
