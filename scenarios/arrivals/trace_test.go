package arrivals_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pulley/scenarios/arrivals"
)

func TestReadTraceReadsEachForm(t *testing.T) {
	want := []time.Duration{0, 250 * time.Millisecond, 1500 * time.Millisecond}
	for name, text := range map[string]string{
		"seconds":     "# recorded\n0\n\n0.25\n1.5\n",
		"durations":   "0s\r\n250ms\r\n1.5s\r\n",
		"moments":     "2026-01-02T15:04:05.25Z\n2026-01-02T16:04:05+01:00\n2026-01-02T15:04:06.5Z",
		"at_ns":       `{"at_ns": 1767366245000000000, "what": {"x": 1}}` + "\n" + `{"at_ns":1767366245250000000}` + "\n" + `{"at_ns":1767366246500000000}`,
		"at":          `{"at":"2026-01-02T15:04:05Z"}` + "\n" + `{"at":"2026-01-02T15:04:05.25Z"}` + "\n" + `{"at":"2026-01-02T15:04:06.5Z"}`,
		"offset_ns":   `{"offset_ns":0}` + "\n" + `{"offset_ns":250000000}` + "\n" + `{"offset_ns":1500000000}`,
		"offset":      `{"offset":"0s"}` + "\n" + `{"offset":0.25}` + "\n" + `{"offset":"1.5"}`,
		"out of turn": "1.5\n0\n250ms\n",
	} {
		got, err := arrivals.ReadTrace(name, strings.NewReader(text))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v; want %v", name, got, err, want)
		}
	}
	if got, err := arrivals.ReadTrace("offsets", strings.NewReader("2\n3\n")); err != nil || got[0] != 2*time.Second {
		t.Errorf("offsets that begin at 2 s: %v, %v", got, err)
	}
}

func TestReadTraceRefusesInOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "f: there is no time in it",
		"# only\n\n":                        "f: there is no time in it",
		"1\nsoon\n":                         `f:2: "soon" is no time`,
		"1\n-2\n":                           `f:2: "-2" is not between`,
		"NaN":                               `f:1: "NaN" is not between`,
		"1e30":                              `f:1: "1e30" is not between`,
		"1\n2026-01-02T15:04:05Z\n":         "f:2: moments and times since the start are mixed",
		"{\"at_ns\":1.5}":                   `f:1: "1.5" is no time`,
		"{\"at_ns\":1e99}":                  `f:1: "1e99" is no time`,
		"{\"offset\":[]}":                   `f:1: "[]" is no time`,
		"{\"when\":1}":                      "f:1: the object has no time",
		"{\"at_ns\":":                       "f:1: it is no JSON object",
		"{\"at\":\"0001-01-01T00:00:00Z\"}": "is no time",
		"{\"at_ns\":-9223372036854775808}\n{\"at_ns\":9223372036854775807}": "f: its times are more than ten years apart",
		strings.Repeat("x", 1<<20+1):                                        "f: a line has more than",
		"\xff\xfe\x00":                                                      "is no time",
	} {
		_, err := arrivals.ReadTrace("f", strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.40q: %v; want %q", text, err, want)
		}
	}
}

func TestReadTraceFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "times.txt")
	if err := os.WriteFile(file, []byte("1\n2\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	a, err := arrivals.Parse("trace:"+file, arrivals.ReadTraceFile)
	if err != nil {
		t.Fatal(err)
	}
	if got := times(a, 1, time.Minute); !slices.Equal(got, []time.Duration{time.Second, 2 * time.Second}) {
		t.Errorf("%v", got)
	}
	if _, err := arrivals.Parse("trace:"+file+".gone", arrivals.ReadTraceFile); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := arrivals.Parse("trace:"+filepath.Dir(file), arrivals.ReadTraceFile); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("a directory: %v", err)
	}
}

func FuzzReadTrace(f *testing.F) {
	for _, text := range []string{"1\n2s\n", "2026-01-02T15:04:05Z", `{"offset":"1s"}`, `{"at_ns":5}`, "#\n\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := arrivals.ReadTrace("f", strings.NewReader(text))
		switch {
		case err != nil && strings.Contains(err.Error(), "\n"):
			t.Fatalf("the error has several lines: %q", err)
		case err == nil && (len(got) == 0 || !slices.IsSorted(got) || got[0] < 0):
			t.Fatalf("%v", got)
		}
	})
}
