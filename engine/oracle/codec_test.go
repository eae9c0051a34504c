package oracle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	gocmp "github.com/google/go-cmp/cmp"

	"pulley/engine/ir"
	"pulley/engine/reference"
)

var graphLimits ir.Limits

func TestHistoryRoundTrip(t *testing.T) {
	h := events(t, sound())
	h[0].AtNS, h[0].Source = 5, "engine a"
	h[3].Args = []byte(`{"html":"<&>","big":123456789012345678901234567890}`)
	h[9].Error = &reference.Error{Type: "T", Message: "line\nbreak", Action: "a.b", Pos: ir.Pos{File: "f", Line: 1, Col: 2}}
	var buf bytes.Buffer
	if err := WriteHistory(&buf, h); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(buf.String(), "\n"); got != len(h)+1 {
		t.Errorf("%d lines for %d events and what begins them", got, len(h))
	}
	for _, in := range []io.Reader{bytes.NewReader(buf.Bytes()), iotest.OneByteReader(bytes.NewReader(buf.Bytes()))} {
		back, torn, err := ReadHistory(in)
		if err != nil || torn {
			t.Fatal(err, torn)
		}
		var again bytes.Buffer
		if err := WriteHistory(&again, back); err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(buf.String(), again.String()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestReadHistoryTorn(t *testing.T) {
	const whole = `{"kind":"began","version":1}` + "\n"
	for rest, torn := range map[string]bool{
		"":                                    false,
		`{"kind":"submitted","instance":"b"}`: false, // only its line's end is missing
		`{"kind":"submitted","inst`:           true,
		`{"kind":"sub`:                        true,
		`{"kind":"leased","instance":"b"}`:    true, // not valid, so not all of it
	} {
		h, got, err := ReadHistory(strings.NewReader(whole + rest))
		want := 1
		if rest != "" && !torn {
			want = 2
		}
		if err != nil || got != torn || len(h) != want {
			t.Errorf("%q: %d events, torn %t, %v", rest, len(h), got, err)
		}
	}
}

func TestReadHistoryRefuses(t *testing.T) {
	const whole = `{"kind":"began","version":1}` + "\n"
	for line, want := range map[string]string{
		`{"kind":"lost","instance":"a"}`:                                       `history line 2: there is no kind of event "lost"`,
		`{"kind":"began","version":2}`:                                         `history line 2: the history has version 2; this program reads version 1`,
		`{"kind":"gone"}`:                                                      `lacks its process`,
		`{"kind":"claimed","answer":"none"}`:                                   `lacks its call`,
		`{"kind":"claimed","call":1}`:                                          `there is no answer "" of an event "claimed"`,
		`{"kind":"struck"}`:                                                    `lacks its bad`,
		`{"kind":"submitted","instance":"a","when":1}`:                         `history line 2: json: unknown field "when"`,
		`{"kind":"submitted"}`:                                                 `lacks its instance`,
		`{"kind":"enqueued","instance":"a"}`:                                   `an event "enqueued" lacks its node`,
		`{"kind":"leased","instance":"a","node":"n"}`:                          `lacks its token`,
		`{"kind":"arrived","instance":"a","node":"n"}`:                         `lacks its counts`,
		`{"kind":"element","instance":"a","node":"n"}`:                         `lacks its value`,
		`{"kind":"element","instance":"a","node":"n","index":-1,"value":1}`:    `negative index`,
		`{"kind":"started","instance":"a","node":"n","token":1}`:               `lacks its action and args`,
		`{"kind":"answered","instance":"a","node":"n","token":1,"answer":"y"}`: `there is no answer "y" of an event "answered"`,
		`{"kind":"ended","instance":"a"}`:                                      `does not end with status ""`,
		`{"kind":"looked","instance":"a","status":"asleep"}`:                   `has no status "asleep"`,
		`{"kind":"inspected"}`:                                                 `lacks its rows`,
		`{"kind":"submitted","instance":"a"} {}`:                               `more than one event`,
		``:                                                                     `history line 2 is empty`,
		`nonsense`:                                                             `history line 2: invalid character`,
	} {
		h, _, err := ReadHistory(strings.NewReader(whole + line + "\n" + whole))
		if err == nil || !strings.Contains(err.Error(), want) || h != nil {
			t.Errorf("%.80s: %v, want %q", line, err, want)
		}
	}
	long := io.MultiReader(strings.NewReader(whole+`"`), io.LimitReader(endless('x'), lineBytesMax+1), strings.NewReader(`"`))
	if h, _, err := ReadHistory(long); err == nil || !strings.Contains(err.Error(), "has more than") || h != nil {
		t.Errorf("a long line: %v", err)
	}
	if _, _, err := ReadHistory(iotest.ErrReader(errors.New("disk gone"))); err == nil || !strings.Contains(err.Error(), "disk gone") {
		t.Errorf("a reader that fails: %v", err)
	}
}

type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

// A killed process leaves the first piece of a line, or nothing at all.
func TestReadHistoriesOfKilledProcesses(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	const began = `{"kind":"began","version":1,"at_ns":1}` + "\n"
	whole := write("a", began+`{"kind":"submitted","instance":"i","at_ns":7}`+"\n")
	cut := write("b", began+`{"kind":"submitting","instance":"i","at_ns":5}`+"\n"+`{"kind":"subm`)
	empty := write("c", "")
	h, torn, err := ReadHistories(whole, cut, empty)
	if err != nil || len(h) != 4 || h[2].Kind != Submitting || h[3].Kind != Submitted {
		t.Errorf("%v %v", h, err)
	}
	if diff := gocmp.Diff([]string{cut, empty}, torn); diff != "" {
		t.Errorf("torn: %s", diff)
	}
	none := write("d", `{"kind":"submitted","instance":"i"}`+"\n")
	if _, _, err := ReadHistories(whole, none); err == nil || !strings.Contains(err.Error(), none+`: history line 1: the first event is "submitted"`) {
		t.Errorf("a file without version: %v", err)
	}
	if _, _, err := ReadHistories(filepath.Join(dir, "e")); err == nil {
		t.Error("a file that is not there was read")
	}
}

// An unbuffered event must be in the file when Record returns.
func TestRecorderLosesNothing(t *testing.T) {
	var buf bytes.Buffer
	r := NewRecorder(&buf, Recording{Source: "a"})
	for i := range 3 {
		r.Record(Event{Kind: Submitting, Instance: "i", Call: 1}, Event{Kind: Submitted, Instance: "i", Call: 1})
		if got := strings.Count(buf.String(), "\n"); got != 1+2*(i+1) {
			t.Fatalf("%d lines after %d calls", got, i+1)
		}
	}
	h, torn, err := ReadHistory(&buf)
	if err != nil || torn || len(h) != 7 || h[0].AtNS <= 0 || h[6].AtNS < h[0].AtNS || h[5].AtNS != h[6].AtNS {
		t.Errorf("torn %t, %v: %v", torn, err, h)
	}
}

func TestMerge(t *testing.T) {
	at := func(ns int64, instance string) Event { return Event{Kind: Submitted, AtNS: ns, Instance: instance} }
	got := Merge(History{at(1, "a1"), at(4, "a2"), at(4, "a3")}, nil, History{at(2, "b1"), at(4, "b2"), at(5, "b3")})
	var order []string
	for _, e := range got {
		order = append(order, e.Instance)
	}
	if want := "a1 b1 a2 a3 b2 b3"; strings.Join(order, " ") != want {
		t.Errorf("%v, want %s", order, want)
	}
}

func TestRecorder(t *testing.T) {
	var buf bytes.Buffer
	clock := int64(0)
	r := NewRecorder(&buf, Recording{Source: "engine a", Clock: func() int64 { clock++; return clock }})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 50 {
				r.Record(Event{Kind: Submitted, Instance: fmt.Sprint(i)})
			}
		})
	}
	all.Wait()
	if err := r.Flush(); err != nil {
		t.Fatal(err)
	}
	h, torn, err := ReadHistory(&buf)
	if err != nil || torn || len(h) != 401 {
		t.Fatalf("%d events, torn %t, %v", len(h), torn, err)
	}
	for i, e := range h {
		if e.AtNS != int64(i+1) || e.Source != "engine a" {
			t.Fatalf("line %d has time %d and source %q", i+1, e.AtNS, e.Source)
		}
	}
}

type failing int

func (f *failing) Write(p []byte) (int, error) {
	if *f--; *f < 0 {
		return 0, errors.New("no space left")
	}
	return len(p), nil
}

func TestRecorderKeepsItsFirstError(t *testing.T) {
	f := failing(1)
	r := NewRecorder(&f, Recording{Buffered: true})
	r.Record(Event{Kind: Submitted, Instance: "a"})
	if err := r.Flush(); err != nil {
		t.Fatal(err)
	}
	r.Record(Event{Kind: Submitted, Instance: "a"})
	first := r.Flush()
	if first == nil {
		t.Fatal("a full disk went unnoticed")
	}
	r.Record(Event{Kind: Submitted, Instance: "a"})
	if err := r.Flush(); err == nil || err.Error() != first.Error() {
		t.Errorf("%v, want %v", err, first)
	}
	var buf bytes.Buffer
	r = NewRecorder(&buf, Recording{Buffered: true})
	r.Record(Event{Kind: "gone"})
	r.Record(Event{Kind: Submitted, Instance: "a"})
	if err := r.Flush(); err == nil || buf.Len() > 0 {
		t.Errorf("an event that is not valid: %v, written %q", err, buf.String())
	}
	if err := WriteHistory(&buf, History{{Kind: Submitted, Instance: "a"}, {Kind: Leased}}); err == nil || !strings.Contains(err.Error(), "event 2") {
		t.Errorf("a history that is not valid: %v", err)
	}
	if err := WriteHistory(&buf, History{{Kind: Inspected, Rows: map[string]int{}, Args: []byte("{")}}); err == nil {
		t.Error("args that are no JSON were written")
	}
}
