package serve

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pulley/reports/record"
)

func TestRunInProgressIsShown(t *testing.T) {
	s := newServer(t)
	s.progress("live", func(p *record.Progress) { p.Warning, p.Warnings = "it rained", 2 })
	s.write("live/hop.hlog", "12345")
	s.want("/", 200, `<a href="/live/live">live</a>`, "3/12 runs", `<progress max="1" value="0.25"`, "In progress, with 2 warnings")
	body := s.want("/live/live", 200, `data-events="/events/live"`, `<progress id="share" max="1" value="0.25"`, "chain on push", "3/12 runs", "it rained", "<li>second</li><li>first</li>", "hop.hlog, 5 B", `http-equiv="refresh"`)
	if strings.Contains(body, "progress.json") {
		t.Error("the file that is shown is listed")
	}
	if got := s.get("/run/live"); got.Code != 303 || got.Header().Get("Location") != "/live/live" {
		t.Errorf("the report that is not there: status %d to %q", got.Code, got.Header().Get("Location"))
	}
	s.want("/live/none", 404)
}

func TestRunThatEndedWithoutARecordSaysWhy(t *testing.T) {
	s := newServer(t)
	s.progress("failed", func(p *record.Progress) { p.State, p.Error = record.StateFailed, "the server was killed" })
	s.progress("stopped", func(p *record.Progress) { p.State = record.StateInterrupted })
	s.progress("killed", func(p *record.Progress) { p.At = time.Now().Add(-time.Hour) })
	s.want("/", 200, "Failed: the server was killed", "Interrupted", "No sign of life since")
	for _, name := range []string{"failed", "stopped", "killed"} {
		if strings.Contains(s.want("/live/"+name, 200), "data-events=") {
			t.Errorf("%s is followed", name)
		}
	}
	s.write("broken/progress.json", "{")
	s.want("/live/broken", 404)
}

func TestRecordCountsWhereARunHasEnded(t *testing.T) {
	s := newServer(t)
	s.write("r/load.json", "answer")
	s.progress("r", func(p *record.Progress) { p.State, p.StartedAt = record.StateInterrupted, time.Now().Add(-time.Hour) })
	s.want("/", 200, `<a href="/run/r">r</a>`, "answer")
	if got := s.get("/live/r"); got.Code != 303 || got.Header().Get("Location") != "/run/r" {
		t.Errorf("status %d to %q", got.Code, got.Header().Get("Location"))
	}
	s.progress("r") // again, into the same folder
	s.want("/", 200, `<a href="/live/r">r</a>`)
	s.want("/live/r", 200, `<a href="/run/r">The record that is here</a>`)
	s.want("/run/r", 200, "answer", `<a href="/live/r">A new run is in progress here</a>`)
}

// readEvent returns the next message of a stream.
func readEvent(t *testing.T, lines *bufio.Reader) following {
	t.Helper()
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if text, has := strings.CutPrefix(line, "data: "); has {
			var f following
			if err := json.Unmarshal([]byte(text), &f); err != nil {
				t.Fatal(err)
			}
			return f
		}
	}
}

func TestStreamFollowsARun(t *testing.T) {
	s := newServer(t)
	s.times.poll = time.Millisecond
	s.progress("live", func(p *record.Progress) { p.What = "two\nlines\n\ndata: forged" })
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	got, err := http.Get(server.URL + "/events/live")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	if kind := got.Header.Get("Content-Type"); got.StatusCode != 200 || !strings.HasPrefix(kind, "text/event-stream") {
		t.Fatalf("status %d, %s", got.StatusCode, kind)
	}
	lines := bufio.NewReader(got.Body)
	if f := readEvent(t, lines); f.Over || f.Share == nil || *f.Share != 0.25 || f.Answer != "two lines  data: forged" || f.Lines[0] != "second" {
		t.Errorf("the first message is %+v", f)
	}
	s.progress("live", func(p *record.Progress) { p.Done = 6 })
	if f := readEvent(t, lines); f.Over || *f.Share != 0.5 || f.Counts != "6/12 runs" {
		t.Errorf("the second message is %+v", f)
	}
	s.write("live/load.json", "answer")
	if err := os.Remove(filepath.Join(s.dir, "live", record.ProgressFile)); err != nil {
		t.Fatal(err)
	}
	f := readEvent(t, lines)
	for !f.Over { // the record was seen before the progress was removed
		f = readEvent(t, lines)
	}
	if f.Report != "/run/live" {
		t.Errorf("the last message is %+v", f)
	}
	if _, err := lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if line, err := lines.ReadString('\n'); err == nil {
		t.Errorf("the stream continues with %q", line)
	}
}

func TestStreamOfAFolderThatGoes(t *testing.T) {
	s := newServer(t)
	s.times.poll = time.Millisecond
	s.progress("live")
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	got, err := http.Get(server.URL + "/events/live")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	lines := bufio.NewReader(got.Body)
	readEvent(t, lines)
	if err := os.RemoveAll(filepath.Join(s.dir, "live")); err != nil {
		t.Fatal(err)
	}
	f := readEvent(t, lines)
	for !f.Over {
		f = readEvent(t, lines)
	}
}

func TestStreamsAreBounded(t *testing.T) {
	s := newServer(t)
	s.progress("live")
	for range streamsMost {
		s.streams <- struct{}{}
	}
	if got := s.get("/events/live"); got.Code != 503 || got.Header().Get("Retry-After") == "" {
		t.Errorf("status %d: %s", got.Code, got.Body)
	}
	<-s.streams
	s.times.stream = time.Millisecond
	got := s.get("/events/live")
	if got.Code != 200 || !strings.Contains(got.Body.String(), "data: {") {
		t.Errorf("status %d: %s", got.Code, got.Body)
	}
	if len(s.streams) != streamsMost-1 {
		t.Error("a stream that has ended still counts")
	}
	s.want("/events/none", 404)
}
