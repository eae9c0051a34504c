package measure_test

import (
	"encoding/json"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pulley/bench/measure"
	"pulley/reports/record"
)

func TestCommandHidesPasswords(t *testing.T) {
	in := []string{
		"pulley", "compare", "--dsn", "postgres://ada:s3cret@db.example:5432/x?sslmode=disable",
		"--dsn=postgresql://ada:s3:cr@et@db/x", "host=/tmp user=ada password=s3cret dbname=x",
		"host=h password = 's3 cr\\'et' user=u", "postgres://h/x?user=u&password=s3cret&a=b", "postgres://ada@h/x", "fanout:x@y",
		"PASSWORD=s3cret", "sslpassword=s3cret",
	}
	want := []string{
		"pulley", "compare", "--dsn", "postgres://ada:***@db.example:5432/x?sslmode=disable",
		"--dsn=postgresql://ada:***@db/x", "host=/tmp user=ada password=*** dbname=x",
		"host=h password = *** user=u", "postgres://h/x?user=u&password=***&a=b", "postgres://ada@h/x", "fanout:x@y",
		"PASSWORD=***", "sslpassword=***",
	}
	if diff := cmp.Diff(want, measure.Command(in)); diff != "" {
		t.Error(diff)
	}
}

func TestHost(t *testing.T) {
	got := measure.Host()
	if got.OS != runtime.GOOS || got.Arch != runtime.GOARCH || got.Cores < 1 {
		t.Errorf("got %+v", got)
	}
	if runtime.GOOS == "linux" && got.MemoryBytes < 1<<20 {
		t.Errorf("memory: %d bytes", got.MemoryBytes)
	}
}

func TestTool(t *testing.T) {
	if got := measure.Tool("pulley"); got.Name != "pulley" || got.Go != runtime.Version() || got.Version == "" {
		t.Errorf("got %+v", got)
	}
}

func TestEveryCounterHasAMethod(t *testing.T) {
	have := make(map[string]bool)
	for _, m := range measure.Methods() {
		if have[m.Figure] || len(m.Text) < 40 {
			t.Errorf("%s: stands twice or says nothing", m.Figure)
		}
		have[m.Figure] = true
	}
	row := reflect.TypeFor[record.Row]()
	for i := range row.NumField() {
		name := row.Field(i).Tag.Get("json")
		if strings.HasSuffix(name, "_per_node") {
			if !have[name] {
				t.Errorf("%s has no method", name)
			}
			delete(have, name)
		}
	}
	if len(have) > 0 {
		left, err := json.Marshal(have)
		t.Errorf("methods of no figure: %s, %v", left, err)
	}
}
