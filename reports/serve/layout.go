package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	"pulley/internal/live"
	"pulley/reports/page"
)

// head is what the list says of a record.
type head struct {
	kind, answer, repeat string
	state                page.State
	wrong                string // why there is no report; empty: there is one
}

var (
	errBusy    = errors.New("too many reports are being laid out; try again")
	errChanged = errors.New("the record is being written; try again")
)

// turn calls f as one of few at a time.
func (s *Server) turn(ctx context.Context, f func() error) error {
	ctx, cancel := context.WithTimeout(ctx, renderWait)
	defer cancel()
	select {
	case s.renders <- struct{}{}:
	case <-ctx.Done():
		return errBusy
	}
	defer func() { <-s.renders }()
	return f()
}

func (r *run) key() string { return r.path + "\x00" + r.version }

func (s *Server) folder(r *run) string { return filepath.Join(s.cfg.Dir, filepath.FromSlash(r.path)) }

// headOf returns what the list says of a record, laid out if need be. It is the caller's turn only then.
func (s *Server) headOf(ctx context.Context, r *run) (h head, err error) {
	if h, found := s.heads.get(r.key()); found {
		return h, nil
	}
	err = s.turn(ctx, func() error {
		_, h, err = s.layOut(r)
		return err
	})
	return h, err
}

// layOut returns the page of a record and its head, which is kept. Without a page, the head says what is wrong. The error means
// that nothing can be said at the moment.
func (s *Server) layOut(r *run) (*page.Page, head, error) {
	h, p := head{kind: r.kind, wrong: r.wrong}, (*page.Page)(nil)
	if h.wrong == "" {
		var err error
		if p, err = safely(func() (*page.Page, error) { return s.open(s.folder(r)) }); err != nil {
			h.wrong = s.inside(err)
		} else {
			h.kind, h.answer, h.state, h.repeat = p.Kind, p.Answer, p.State, p.Repeat
		}
	}
	// What was read must be what was checked: plain files, of a bounded size.
	if now := s.tree.lookup(r.path); now == nil || now.version != r.version || now.wrong != r.wrong {
		return nil, head{}, errChanged
	}
	s.heads.put(r.key(), h, 1)
	return p, h, nil
}

// safely turns a panic into an error: a record may be damaged in a way that nobody has thought of.
func safely(f func() (*page.Page, error)) (p *page.Page, err error) {
	defer func() {
		if v := recover(); v != nil {
			p, err = nil, fmt.Errorf("the record cannot be laid out: %v", v)
		}
	}()
	return f()
}

// inside is an error in one line, without the path of the directory.
func (s *Server) inside(err error) string {
	text := err.Error()
	if s.cfg.Dir != "" {
		text = strings.ReplaceAll(text, filepath.Clean(s.cfg.Dir)+string(filepath.Separator), "")
	}
	return live.Clip(live.Clean(text), 500)
}

// home leads back to the list.
var home = page.Link{Text: "← All runs", Address: "/"}

// report shows the report of a run. Without a record, it leads to the run in progress.
func (s *Server) report(w http.ResponseWriter, q *http.Request) {
	r := s.tree.lookup(q.PathValue("path"))
	switch {
	case r == nil:
		refuse(w, http.StatusNotFound, "there is no run here")
		return
	case r.kind == "":
		w.Header().Set("Location", address("/live/", r.path))
		w.WriteHeader(http.StatusSeeOther)
		return
	}
	above := []page.Link{home}
	key := r.key()
	if s.tree.running(r) {
		above = append(above, page.Link{Text: "A new run is in progress here", Address: address("/live/", r.path)})
		key += "\x00running"
	}
	s.page(w, q, key, func() (*page.Page, error) {
		p, h, err := s.layOut(r)
		if err == nil && p == nil {
			err = errors.New(h.wrong)
		}
		return p, err
	}, above)
}

// page answers with a page, laid out if it is not kept.
func (s *Server) page(w http.ResponseWriter, q *http.Request, key string, open func() (*page.Page, error), above []page.Link) {
	html, found := s.pages.get(key)
	if !found {
		err := s.turn(q.Context(), func() (err error) {
			if html, found = s.pages.get(key); found {
				return nil
			}
			p, err := open()
			if err != nil {
				return err
			}
			var b bytes.Buffer
			if err := p.WriteServed(&b, above); err != nil {
				return err
			}
			html = b.Bytes()
			s.pages.put(key, html, int64(len(html)+len(key)))
			return nil
		})
		switch {
		case errors.Is(err, errBusy), errors.Is(err, errChanged):
			w.Header().Set("Retry-After", "2")
			refuse(w, http.StatusServiceUnavailable, err.Error())
			return
		case err != nil:
			refuse(w, http.StatusUnprocessableEntity, s.inside(err))
			return
		}
	}
	send(w, page.Policy(), html)
}

// write answers with a page that is not kept.
func (s *Server) write(w http.ResponseWriter, p *page.Page, above []page.Link) {
	var b bytes.Buffer
	if err := p.WriteServed(&b, above); err != nil {
		refuse(w, http.StatusUnprocessableEntity, s.inside(err))
		return
	}
	send(w, page.Policy(), b.Bytes())
}

// send answers with HTML.
func send(w http.ResponseWriter, policy string, html []byte) {
	w.Header().Set("Content-Security-Policy", policy+"; "+noFrames)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", fmt.Sprint(len(html)))
	_, _ = w.Write(html) // a client that is closed
}

// beside compares two runs.
func (s *Server) beside(w http.ResponseWriter, q *http.Request) {
	if s.cfg.Beside == nil {
		refuse(w, http.StatusNotFound, "this pulley compares no two runs")
		return
	}
	query := q.URL.Query()
	candidate, baseline := s.tree.lookup(query.Get("candidate")), s.tree.lookup(query.Get("baseline"))
	switch {
	case !query.Has("candidate") || !query.Has("baseline"):
		refuse(w, http.StatusBadRequest, "choose two runs in the list: a candidate and a baseline")
		return
	case candidate == nil || baseline == nil:
		refuse(w, http.StatusNotFound, "one of the runs is not here")
		return
	case candidate.path == baseline.path:
		refuse(w, http.StatusBadRequest, "candidate and baseline are the same run; choose two")
		return
	}
	for _, r := range []*run{candidate, baseline} {
		if !r.compares {
			refuse(w, http.StatusUnprocessableEntity, live.Clean(r.path)+" has no record of a comparison that can be read")
			return
		}
	}
	s.page(w, q, "beside\x00"+candidate.key()+"\x00"+baseline.key(), func() (*page.Page, error) {
		p, err := safely(func() (*page.Page, error) { return s.cfg.Beside(s.folder(candidate), s.folder(baseline)) })
		for _, r := range []*run{candidate, baseline} {
			if now := s.tree.lookup(r.path); now == nil || now.version != r.version || !now.compares {
				return nil, errChanged
			}
		}
		return p, err
	}, []page.Link{home, {Text: "Candidate", Address: address("/run/", candidate.path)}, {Text: "Baseline", Address: address("/run/", baseline.path)}})
}

// address of a run below a prefix.
func address(prefix, path string) string {
	if path == "." {
		path = ""
	}
	return (&url.URL{Path: prefix + path}).EscapedPath()
}
