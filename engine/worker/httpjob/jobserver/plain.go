package jobserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const bodyBytes = 16 << 20

func readAll(r *http.Request) []byte {
	body, err := io.ReadAll(io.LimitReader(r.Body, bodyBytes))
	if err != nil {
		panic(http.ErrAbortHandler) // the client has disconnected
	}
	return body
}

func write(w http.ResponseWriter, a reply) {
	text, ok := a.body.([]byte)
	if !ok {
		var err error
		if text, err = json.Marshal(a.body); err != nil {
			panic(err)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.status)
	_, _ = w.Write(text) // the client may have disconnected
}

func (s *Server) plain(r *http.Request, body []byte) reply {
	path, ok := strings.CutPrefix(r.URL.EscapedPath(), "/jobs")
	switch {
	case !ok:
		return wrong(http.StatusNotFound, "there is no %s", r.URL.Path)
	case path == "" && r.Method == http.MethodPost:
		return s.startPlain(r, body)
	case path == "" && r.Method == http.MethodGet:
		j := s.byKey[r.URL.Query().Get("key")]
		if j == nil {
			return wrong(http.StatusNotFound, "no job has that key")
		}
		return s.describe(j)
	}
	id, isCancel := strings.CutSuffix(strings.TrimPrefix(path, "/"), "/cancel")
	id, err := url.PathUnescape(id)
	j := s.byID["plain "+id]
	switch {
	case err != nil || j == nil:
		return wrong(http.StatusNotFound, "there is no job %q", id)
	case isCancel && r.Method == http.MethodPost:
		s.stop(j)
		return s.describe(j)
	case r.Method == http.MethodGet && !isCancel:
		return s.describe(j)
	}
	return wrong(http.StatusMethodNotAllowed, "%s is not for that", r.Method)
}

func (s *Server) startPlain(r *http.Request, body []byte) reply {
	var asked struct {
		Job  string
		Args json.RawMessage
	}
	key := r.Header.Get("Idempotency-Key")
	if err := json.Unmarshal(body, &asked); err != nil || key == "" {
		return wrong(http.StatusBadRequest, "a start is JSON, and has an Idempotency-Key")
	}
	if j := s.byKey[key]; j != nil {
		return s.describe(j)
	}
	j := s.begin(fmt.Sprintf("plain job/%d", len(s.jobs)+1), Start{Job: asked.Job, Key: key, Args: asked.Args})
	s.byKey[key] = j
	a := s.describe(j)
	if a.status == http.StatusOK && !a.silent && j.does.Answer == nil {
		a.status = http.StatusCreated
	}
	return a
}

// describe needs the lock.
func (s *Server) describe(j *job) reply {
	s.tell(j)
	return j.plain()
}

func (j *job) plain() reply {
	state := j.state(time.Now())
	said := map[string]any{"id": strings.TrimPrefix(j.id, "plain "), "state": state}
	a := reply{status: http.StatusOK, body: said}
	switch state {
	case "running":
	case "succeeded":
		if j.does.Result != nil {
			said["result"] = j.does.Result
		}
	case "failed":
		if j.does.Type != "" || j.does.Message != "" {
			said["error"] = map[string]string{"type": j.does.Type, "message": j.does.Message}
		}
	}
	if state != "running" && j.does.Answer != nil {
		a.body = j.does.Answer
	}
	a.silent, a.floods = j.does.Silent, j.does.Floods && state != "running"
	return a
}
