package gobench

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"

	"pulley/internal/cause"
)

// maxLines keeps a wrong path from exhausting memory.
const maxLines = 10_000_000

// maxWarnings bounds the faulty lines reported one by one.
const maxWarnings = 20

// Better is the direction of a unit that is an improvement.
type Better int

// The directions.
const (
	// no stated direction
	BetterUnknown Better = 0
	// BetterHigher is for rates, BetterLower for times, bytes and counts.
	BetterHigher Better = 1
	BetterLower  Better = -1
)

// Key identifies a series within a file.
type Key struct {
	// the import path under test; empty if unknown
	Package string
	// in full, without "Benchmark" and the processor suffix: "Run/size=10"
	Name string
	// GOMAXPROCS; 1 if the name has no suffix
	Procs int
	// normalized: "sec/op", "B/op", "allocs/op", "B/s", or the benchmark's own
	Unit    string
	Machine Machine
}

// Machine is where the benchmark ran. Fields are empty if unknown.
type Machine struct {
	OS   string
	Arch string
	CPU  string
}

// Series are all values of one benchmark in one unit.
type Series struct {
	Key
	Better Better
	// repeated measurements give the same value, by a "Unit … assume=exact" line
	Exact bool
	// in file order, one per line of the benchmark
	Values []float64
}

// File is the content of a file.
type File struct {
	// in the order of their first values
	Series []Series
	// Config holds the last value of each "key: value" line above a result, such as "commit" or "toolchain".
	Config map[string]string
	// Mixed are the sorted keys of Config that had several values: "pkg", or "commit" if files of several commits were joined.
	Mixed []string
	// on unreadable lines that look like results
	Warnings []string
}

// ReadFile reads the file at path. The error is one line that names it.
func ReadFile(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, cause.Of(err))
	}
	defer f.Close()
	return Read(f, path)
}

// Read reads results until the end of r; name stands for it in errors and warnings. It fails if r has no result, as in a file
// of another format.
func Read(r io.Reader, name string) (*File, error) {
	reader := benchfmt.NewReader(r, name)
	b := builder{index: map[Key]int{}, file: &File{Config: map[string]string{}}}
	for lines := 0; reader.Scan(); lines++ {
		if lines == maxLines {
			return nil, fmt.Errorf("read %s: more than %d lines of results", name, maxLines)
		}
		switch rec := reader.Result().(type) {
		case *benchfmt.Result:
			b.add(rec)
		case *benchfmt.SyntaxError:
			b.warn(rec.Error())
		}
	}
	if err := reader.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	b.finish(reader.Units())
	if len(b.file.Series) == 0 {
		hint := ""
		if len(b.file.Warnings) > 0 {
			hint = "; " + b.file.Warnings[0]
		}
		return nil, fmt.Errorf("read %s: there is no result in Go's benchmark format in it%s", name, hint)
	}
	return b.file, nil
}

type builder struct {
	file    *File
	index   map[Key]int
	omitted int
}

func (b *builder) warn(text string) {
	if len(b.file.Warnings) == maxWarnings {
		b.omitted++
		return
	}
	b.file.Warnings = append(b.file.Warnings, text)
}

func (b *builder) add(r *benchfmt.Result) {
	key := Key{Package: r.GetConfig("pkg"), Machine: Machine{r.GetConfig("goos"), r.GetConfig("goarch"), r.GetConfig("cpu")}}
	key.Name, key.Procs = splitName(r.Name)
	for _, c := range r.Config {
		if c.File {
			value := string(c.Value)
			if before, ok := b.file.Config[c.Key]; ok && before != value && !slices.Contains(b.file.Mixed, c.Key) {
				b.file.Mixed = append(b.file.Mixed, c.Key)
			}
			b.file.Config[c.Key] = value
		}
	}
	for _, v := range r.Values {
		if math.IsNaN(v.Value) || math.IsInf(v.Value, 0) {
			name, line := r.Pos()
			b.warn(fmt.Sprintf("%s:%d: %s is %v, which is left out", name, line, v.Unit, v.Value))
			continue
		}
		key.Unit = v.Unit
		i, ok := b.index[key]
		if !ok {
			i = len(b.file.Series)
			b.index[key] = i
			b.file.Series = append(b.file.Series, Series{Key: key})
		}
		b.file.Series[i].Values = append(b.file.Series[i].Values, v.Value)
	}
}

// finish sets what is known only at the end: a "Unit" line may follow its results.
func (b *builder) finish(units benchfmt.UnitMetadataMap) {
	for i := range b.file.Series {
		s := &b.file.Series[i]
		s.Better = Better(units.GetBetter(s.Unit))
		if m := units.Get(s.Unit, "assume"); m != nil {
			s.Exact = m.Value == "exact"
		}
	}
	slices.Sort(b.file.Mixed)
	if b.omitted > 0 {
		b.file.Warnings = append(b.file.Warnings, fmt.Sprintf("%d more lines cannot be read", b.omitted))
	}
}

func splitName(name benchfmt.Name) (string, int) {
	full := name.String()
	_, parts := name.Parts()
	if len(parts) > 0 {
		last := string(parts[len(parts)-1])
		if n, err := strconv.Atoi(strings.TrimPrefix(last, "-")); err == nil && strings.HasPrefix(last, "-") && n > 0 {
			return strings.TrimSuffix(full, last), n
		}
	}
	return full, 1
}

// String formats the key: "pulley/bench.Run/size=10-8 sec/op".
func (k Key) String() string {
	text := k.Name
	if k.Package != "" {
		text = k.Package + "." + text
	}
	if k.Procs > 1 {
		text += fmt.Sprintf("-%d", k.Procs)
	}
	return text + " " + k.Unit
}
