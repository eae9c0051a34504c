package serve

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	"pulley/internal/live"
	"pulley/reports/page"
	"pulley/reports/record"
	"pulley/reports/units"
)

//go:embed list.html.tmpl live.html.tmpl instances.html.tmpl serve.css live.js
var files embed.FS

var (
	templates = template.Must(template.ParseFS(files, "list.html.tmpl", "live.html.tmpl", "instances.html.tmpl"))
	style     = page.Style() + mustRead("serve.css")
	liveJS    = mustRead("live.js")
)

func mustRead(name string) string {
	data, err := files.ReadFile(name)
	if err != nil {
		panic(err) // it is embedded
	}
	return string(data)
}

// policy admits the style sheet, scripts, and what else the words name.
func policy(more string, scripts ...string) string {
	text := "default-src 'none'; style-src " + page.Hash(style) + "; script-src"
	for _, script := range scripts {
		text += " " + page.Hash(script)
	}
	return text + "; img-src data:; base-uri 'none'; " + more
}

var (
	listPolicy = policy("form-action 'self'", page.Script())
	livePolicy = policy("form-action 'none'; connect-src 'self'", page.Script(), liveJS)
)

// row is a run in the list.
type row struct {
	Name, Path, Address string
	Kind, Answer        string
	State               page.State
	Share               float64 // of a run in progress; negative: none
	When                string
	At                  int64
	Command             string
	Record              bool // can be compared
}

type listPage struct {
	Style        template.CSS
	Script       template.JS
	Title        string
	Rows         []row
	Total        int
	LeftOut      []string
	Compares     bool
	Page, Pages  int
	Before, Next int // pages; 0: none
}

const (
	rowsMost = 50
	// headsWait is how long a list waits for answers that are not known yet.
	headsWait = 5 * time.Second
)

// list shows a page of the runs.
func (s *Server) list(w http.ResponseWriter, q *http.Request) {
	number := 1
	if text := q.URL.Query().Get("page"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > s.tree.most.runs {
			refuse(w, http.StatusBadRequest, "page is a number from 1 on")
			return
		}
		number = n
	}
	found, err := s.find(q.Context())
	if err != nil {
		refuse(w, http.StatusInternalServerError, "the directory cannot be read: "+s.inside(err))
		return
	}
	view := listPage{
		Style: template.CSS(style), Script: template.JS(page.Script()), Title: live.Clean(filepath.Base(absolute(s.cfg.Dir))), Total: len(found.runs), LeftOut: found.leftOut,
		Compares: s.cfg.Beside != nil, Pages: max(1, (len(found.runs)+rowsMost-1)/rowsMost),
	}
	number = min(number, view.Pages)
	view.Page = number
	from := (number - 1) * rowsMost
	to := min(from+rowsMost, len(found.runs))
	if number > 1 {
		view.Before = number - 1
	}
	if to < len(found.runs) {
		view.Next = number + 1
	}
	ctx, cancel := context.WithTimeout(q.Context(), headsWait)
	defer cancel()
	for _, r := range found.runs[from:to] {
		view.Rows = append(view.Rows, s.row(ctx, r))
	}
	s.html(w, "list.html.tmpl", listPolicy, view)
}

func absolute(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}

func (s *Server) html(w http.ResponseWriter, name, policy string, view any) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, view); err != nil {
		refuse(w, http.StatusInternalServerError, "the page cannot be written: "+s.inside(err))
		return
	}
	send(w, policy, b.Bytes())
}

// find scans the directory, unless that was just done.
func (s *Server) find(ctx context.Context) (*findings, error) {
	s.scanning.Lock()
	defer s.scanning.Unlock()
	if s.scanned != nil && s.tree.now().Sub(s.scanAt) < scanKeep {
		return s.scanned, nil
	}
	found, err := s.tree.scan(context.WithoutCancel(ctx)) // others wait for it, too
	if err != nil {
		return nil, err
	}
	s.scanned, s.scanAt = found, s.tree.now()
	return found, nil
}

func (s *Server) row(ctx context.Context, r *run) row {
	out := row{
		Name: r.path, Path: r.path, Address: address("/run/", r.path), Kind: r.kind, Share: -1, Record: r.compares,
		When: units.Instant(r.latest()), At: r.latest().Unix(),
	}
	if r.path == "." {
		out.Name = filepath.Base(absolute(s.cfg.Dir))
	}
	out.Name = live.Clean(out.Name)
	if p := r.progress; p != nil {
		out.Address = address("/live/", r.path)
		out.Kind, out.Command, out.Answer, out.State = p.Kind, commandOf(p), live.Counts(p), s.stateOf(p)
		if s.tree.running(r) && p.Total > 0 {
			out.Share = min(p.Done/p.Total, 1)
		}
		return out
	}
	h, err := s.headOf(ctx, r)
	switch {
	case errors.Is(err, errBusy):
		out.Answer, out.State = "Not read yet; reload this page.", page.State{Text: "unknown", Mark: page.Unclear}
	case err != nil:
		out.Answer, out.State = s.inside(err), page.State{Text: "unknown", Mark: page.Unclear}
	case h.wrong != "":
		out.Answer, out.State, out.Record = h.wrong, page.State{Text: "Cannot be read", Mark: page.Bad}, false
	default:
		out.Kind, out.Answer, out.State, out.Command = h.kind, h.answer, h.state, h.repeat
	}
	return out
}

// stateOf a run that has no record yet.
func (s *Server) stateOf(p *record.Progress) page.State {
	switch {
	case s.tree.lost(p):
		return page.State{Text: fmt.Sprintf("No sign of life since %s: it may have been killed", units.Instant(p.At)), Mark: page.Bad}
	case p.State == record.StateRunning && p.Warning != "":
		return page.State{Text: fmt.Sprintf("In progress, with %s", units.Plural(p.Warnings, "warning")), Mark: page.Unclear}
	case p.State == record.StateRunning:
		return page.State{Text: "In progress", Mark: page.Unclear}
	case p.State == record.StateInterrupted:
		return page.State{Text: "Interrupted", Mark: page.Unclear}
	case p.State == record.StateFailed:
		return page.State{Text: live.Clip("Failed: "+p.Error, 300), Mark: page.Bad}
	}
	return page.State{Text: "Ended", Mark: page.Unclear}
}
