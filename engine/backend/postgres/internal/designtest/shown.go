package designtest

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"pulley/internal/pgshow"
	"pulley/internal/pgstore"
)

// ShownByKeys checks by the server's plans that what is shown of an instance is found by its key, in every table that has rows of
// instances.
func ShownByKeys(t *testing.T, q pgstore.Querier, shown *pgshow.Design) {
	t.Helper()
	node := regexp.MustCompile(`(Seq|Index|Index Only|Bitmap Heap) Scan(?: Backward)?(?: using \w+)? on (\w+)`)
	for name, sql := range map[string]string{"runs": shown.Runs, "barriers": shown.Barriers, "done": shown.Done, "counts": shown.Counts} {
		if sql == "" {
			continue
		}
		var of any = uuid.New()
		if name == "counts" {
			of = [][16]byte{uuid.New()}
		}
		rows, err := q.Query(t.Context(), "EXPLAIN "+sql, 0, of, 10)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for rows.Next() {
			lines = append(lines, string(rows.RawValues()[0]))
		}
		if err := rows.Err(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		found := 0
		for i, line := range lines {
			m := node.FindStringSubmatch(line)
			if m == nil || m[2] == "owners" {
				continue
			}
			if found++; i+1 == len(lines) || !strings.Contains(lines[i+1], "Index Cond") || !strings.Contains(lines[i+1], "instance_id =") {
				t.Errorf("%s: %s is not read by the key of an instance:\n%s", name, m[2], strings.Join(lines, "\n"))
			}
		}
		if found == 0 {
			t.Errorf("%s: no table is read:\n%s", name, strings.Join(lines, "\n"))
		}
	}
}
