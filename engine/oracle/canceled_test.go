package oracle

import (
	"strings"
	"testing"
)

const canceled = `submitted i
enqueued i a
enqueued i b
leased i a token=1 attempt=1
leased i b token=2 attempt=1
offered i a token=1 attempt=1
answered i a token=1 attempt=1 answer=applied
called_off i b
offered i b token=2 attempt=1
answered i b token=2 attempt=1 answer=stale
canceling i
ended i status=canceled
looked i status=canceled
inspected i rows=0`

func TestCanceledInstancesAndRuns(t *testing.T) {
	for _, c := range []struct{ name, lines, red, says string }{
		{"as it should be", canceled, "", ""},
		{"nobody asked", drop(canceled, "canceling i"), "I7", "the instance was canceled, and nobody had asked for that"},
		{"given out again", insert(canceled, "offered i b", "leased i b token=9 attempt=1"), "I3", "b was leased after it had been cancelled"},
		{"applied all the same", swap(canceled, "token=2 attempt=1 answer=stale", "token=2 attempt=1 answer=applied"), "I3", "b was answered after it had been cancelled"},
		{"another end", swap(canceled, "looked i status=canceled", "looked i status=failed"), "I7", "the end changed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			report, err := Check(events(t, c.lines), Rules{CommitOrder: true, Invariants: []string{"I1", "I3", "I7", "I8", "I9", "I10"}})
			if err != nil {
				t.Fatal(err)
			}
			if got := red(report); got != c.red || !strings.Contains(report.String(), c.says) {
				t.Errorf("red: %q, want %q, which says %q\n%s", got, c.red, c.says, report)
			}
		})
	}
}

func drop(lines, line string) string { return strings.Replace(lines, line+"\n", "", 1) }

func insert(lines, before, line string) string {
	return strings.Replace(lines, before, line+"\n"+before, 1)
}

func swap(lines, old, now string) string { return strings.Replace(lines, old, now, 1) }
