package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"strings"
	"time"

	"pulley/internal/live"
	"pulley/internal/pause"
	"pulley/reports/page"
	"pulley/reports/record"
	"pulley/reports/units"
)

// following is a run in progress as its page shows it, in words. The page's script only puts the words in their places.
type following struct {
	Answer   string   `json:"answer"`
	State    string   `json:"state"`
	Mark     string   `json:"mark"`
	Sign     string   `json:"sign"`
	Share    *float64 `json:"share"` // nil: unknown
	Counts   string   `json:"counts"`
	Detail   string   `json:"detail"`
	Warning  string   `json:"warning"`
	Lines    []string `json:"lines"` // the newest first
	Files    []string `json:"files"`
	Over     bool     `json:"over"`
	Report   string   `json:"report"` // the address of a record that is there
	Renewed  string   `json:"-"`
	Name     string   `json:"-"`
	Kind     string   `json:"-"`
	Command  string   `json:"-"`
	Began    string   `json:"-"`
	Followed string   `json:"-"` // the address of the stream
}

// filesMost bounds the files that are listed.
const filesMost = 40

func (s *Server) following(r *run) following {
	out := following{Over: true, Lines: []string{}, Files: []string{}}
	if r.kind != "" {
		out.Report = address("/run/", r.path)
	}
	if p := r.progress; p != nil {
		state := s.stateOf(p)
		out.Answer, out.State, out.Mark, out.Sign = live.Clean(p.What), state.Text, string(state.Mark), state.Mark.Sign()
		out.Over = !s.tree.running(r)
		if p.Total > 0 {
			share := min(p.Done/p.Total, 1)
			out.Share = &share
		}
		out.Counts, out.Detail, out.Warning = live.Counts(p), live.Clean(p.Detail), live.Clean(p.Warning)
		for i := range p.Lines {
			out.Lines = append(out.Lines, live.Clean(p.Lines[len(p.Lines)-1-i]))
		}
	}
	for _, f := range r.files {
		if !f.plain || strings.HasPrefix(f.name, ".") || f.name == record.ProgressFile {
			continue
		}
		if len(out.Files) == filesMost {
			out.Files = append(out.Files, "… and more")
			break
		}
		if info, err := s.tree.root.Lstat(path.Join(r.path, f.name)); err == nil {
			out.Files = append(out.Files, fmt.Sprintf("%s, %s, %s", live.Clean(f.name), units.Bytes(float64(info.Size())), units.Instant(info.ModTime())))
		}
	}
	return out
}

func commandOf(p *record.Progress) string {
	return live.Clean(strings.Join(p.Command, " "))
}

// live shows a run in progress, or how it ended if it has left no record.
func (s *Server) live(w http.ResponseWriter, q *http.Request) {
	r := s.tree.lookup(q.PathValue("path"))
	switch {
	case r == nil:
		refuse(w, http.StatusNotFound, "there is no run here")
		return
	case r.progress == nil:
		w.Header().Set("Location", address("/run/", r.path))
		w.WriteHeader(http.StatusSeeOther)
		return
	}
	view := struct {
		following
		Style        template.CSS
		Script, Live template.JS
		Home         page.Link
	}{s.following(r), template.CSS(style), template.JS(page.Script()), template.JS(liveJS), home}
	view.Name, view.Kind, view.Command = live.Clean(r.path), live.Clean(r.progress.Kind), commandOf(r.progress)
	view.Began, view.Followed = units.Instant(r.progress.StartedAt), address("/events/", r.path)
	s.html(w, "live.html.tmpl", livePolicy, view)
}

// quietMost is how long a stream is silent at most, so that a closed browser is noticed.
const quietMost = 15 * time.Second

// events is a stream of how far a run is. It ends with the run, and after a while; the browser then begins another.
func (s *Server) events(w http.ResponseWriter, q *http.Request) {
	name := q.PathValue("path")
	if s.tree.lookup(name) == nil {
		refuse(w, http.StatusNotFound, "there is no run here")
		return
	}
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		w.Header().Set("Retry-After", "10")
		refuse(w, http.StatusServiceUnavailable, "too many follow runs; close a page, or try again")
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	if q.Method == http.MethodHead {
		return
	}
	ctx, cancel := context.WithTimeout(q.Context(), s.times.stream)
	defer cancel()
	defer context.AfterFunc(s.stopping, cancel)()
	s.stream(ctx, http.NewResponseController(w), w, name)
}

func (s *Server) stream(ctx context.Context, control *http.ResponseController, w http.ResponseWriter, name string) {
	send := func(text string) bool {
		_ = control.SetWriteDeadline(time.Now().Add(s.times.message)) // a test's recorder has none
		if _, err := fmt.Fprint(w, text); err != nil {
			return false
		}
		return control.Flush() == nil
	}
	last, at := "", s.tree.now()
	if !send("retry: 3000\n\n") {
		return
	}
	for range pause.Tries(ctx, s.times.poll) {
		r, over := s.tree.lookup(name), true
		text := `{"over":true}`
		if r != nil {
			f := s.following(r)
			over = f.Over
			data, err := json.Marshal(f)
			if err != nil {
				return
			}
			text = string(data)
		}
		switch now := s.tree.now(); {
		case text != last:
			if last, at = text, now; !send("data: " + text + "\n\n") {
				return
			}
		case now.Sub(at) >= quietMost:
			if at = now; !send(": still here\n\n") {
				return
			}
		}
		if over {
			return
		}
	}
}
