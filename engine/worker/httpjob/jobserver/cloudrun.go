package jobserver

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

type runBody struct {
	Overrides struct {
		ContainerOverrides []struct {
			Name string
			Args []string
			Env  []struct{ Name, Value string }
		}
		TaskCount int
		Timeout   string
	}
}

// keyIn returns the key in a jobs.run request; empty: none.
func keyIn(body []byte) string {
	var b runBody
	if json.Unmarshal(body, &b) != nil {
		return ""
	}
	for _, c := range b.Overrides.ContainerOverrides {
		for _, v := range c.Env {
			if v.Name == "PULLEY_JOB_KEY" {
				return v.Value
			}
		}
	}
	return ""
}

const pageMax = 100

func (s *Server) cloudRun(r *http.Request, path string, body []byte) reply {
	name, verb, _ := strings.Cut(path, ":")
	parts := strings.Split(name, "/")
	shape := len(parts) >= 6 && parts[0] == "projects" && parts[2] == "locations" && parts[4] == "jobs"
	switch {
	case shape && len(parts) == 6 && verb == "run" && r.Method == http.MethodPost:
		return s.run(name, body)
	case shape && len(parts) == 7 && parts[6] == "executions" && verb == "" && r.Method == http.MethodGet:
		return s.list(r, strings.TrimSuffix(name, "/executions"))
	case shape && len(parts) == 8 && parts[6] == "executions":
		j := s.byID[name]
		switch {
		case j == nil:
			return wrong(http.StatusNotFound, "there is no %s", name)
		case verb == "" && r.Method == http.MethodGet && j.does.Silent:
			return reply{silent: true}
		case verb == "" && r.Method == http.MethodGet:
			s.tell(j)
			return reply{status: http.StatusOK, body: j.execution()}
		case verb == "cancel" && r.Method == http.MethodPost:
			if j.state(time.Now()) != "running" {
				return wrong(http.StatusBadRequest, "the execution has ended")
			}
			s.stop(j)
			return reply{status: http.StatusOK, body: map[string]any{"name": operationOf(j), "metadata": j.execution()}}
		}
	}
	return wrong(http.StatusNotFound, "there is no %s %s", r.Method, r.URL.Path)
}

func operationOf(j *job) string {
	parts := strings.Split(j.id, "/")
	return strings.Join(parts[:4], "/") + "/operations/op-" + parts[7]
}

func (s *Server) run(name string, body []byte) reply {
	var b runBody
	if err := json.Unmarshal(body, &b); err != nil || len(b.Overrides.ContainerOverrides) > 1 {
		return wrong(http.StatusBadRequest, "the request is no JSON of jobs.run for one container")
	}
	st := Start{Job: name, Key: keyIn(body), Env: map[string]string{}}
	for _, c := range b.Overrides.ContainerOverrides {
		st.Argv = c.Args
		for _, v := range c.Env {
			st.Env[v.Name] = v.Value
		}
	}
	st.Args = json.RawMessage(st.Env["PULLEY_ARGS"])
	j := s.begin(fmt.Sprintf("%s/executions/%s-%05d", name, name[strings.LastIndex(name, "/")+1:], len(s.jobs)+1), st)
	meta := j.execution()
	meta["@type"] = "type.googleapis.com/google.cloud.run.v2.Execution"
	return reply{status: http.StatusOK, body: map[string]any{"name": operationOf(j), "metadata": meta}}
}

// list returns executions, newest first; a page's token is its first index, counted from the oldest.
func (s *Server) list(r *http.Request, name string) reply {
	size, err := strconv.Atoi(r.URL.Query().Get("pageSize"))
	if err != nil || size < 1 || size > pageMax {
		size = pageMax
	}
	end := len(s.jobs)
	if token := r.URL.Query().Get("pageToken"); token != "" {
		if end, err = strconv.Atoi(token); err != nil || end < 0 || end > len(s.jobs) {
			return wrong(http.StatusBadRequest, "there is no page %q", token)
		}
	}
	now := time.Now()
	page, next := []map[string]any{}, ""
	for i := end - 1; i >= 0; i-- {
		j := s.jobs[i]
		if j.start.Job != name || now.Sub(j.begun) < s.lag(j) {
			continue
		}
		if len(page) == size {
			next = strconv.Itoa(i + 1)
			break
		}
		e := j.execution()
		if r.URL.Query().Get("fields") != "" { // any selection is treated as package httpjob's
			e = map[string]any{"name": e["name"], "createTime": e["createTime"], "template": e["template"]}
		}
		page = append(page, e)
	}
	return reply{status: http.StatusOK, body: map[string]any{"executions": page, "nextPageToken": next}}
}

func (s *Server) lag(j *job) time.Duration {
	if s.config.ListUneven <= 0 {
		return s.config.ListLag
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(j.id))
	return s.config.ListLag + time.Duration(rand.New(rand.NewPCG(s.config.Seed, h.Sum64())).Int64N(int64(s.config.ListUneven)))
}

func (j *job) execution() map[string]any {
	now := time.Now()
	state := j.state(now)
	completed := map[string]any{"type": "Completed", "state": "CONDITION_RECONCILING"}
	e := map[string]any{
		"name": j.id, "uid": "uid-" + j.id[strings.LastIndex(j.id, "/")+1:], "job": j.start.Job, "createTime": j.begun.UTC().Format(time.RFC3339Nano),
		"taskCount": 1, "conditions": []any{completed, map[string]any{"type": "Started", "state": "CONDITION_SUCCEEDED"}},
		"logUri": "https://logs.example.com/" + j.id,
	}
	done := func(count string) {
		e[count], e["completionTime"] = 1, now.UTC().Format(time.RFC3339Nano)
	}
	switch state {
	case "running":
		e["runningCount"] = 1
	case "succeeded":
		completed["state"] = "CONDITION_SUCCEEDED"
		done("succeededCount")
	case "failed":
		completed["state"], completed["executionReason"], completed["message"] = "CONDITION_FAILED", "NON_ZERO_EXIT_CODE", "Task failed: exit status 1"
		done("failedCount")
	case "cancelled":
		completed["state"], completed["executionReason"] = "CONDITION_FAILED", "CANCELLED"
		done("cancelledCount")
	}
	env := []any{}
	for _, name := range slices.Sorted(maps.Keys(j.start.Env)) {
		env = append(env, map[string]string{"name": name, "value": j.start.Env[name]})
	}
	e["template"] = map[string]any{"containers": []any{map[string]any{"args": j.start.Argv, "env": env}}}
	return e
}

func (s *Server) left(escaped string) reply {
	for _, j := range slices.Backward(s.jobs) {
		if url.PathEscape(j.start.Key) != escaped || j.state(time.Now()) == "running" {
			continue
		}
		switch {
		case j.does.Floods:
			return reply{floods: true}
		case j.does.Answer != nil:
			return reply{status: http.StatusOK, body: j.does.Answer}
		case j.does.Fails && j.does.Type != "":
			return reply{status: http.StatusOK, body: map[string]any{"error": map[string]string{"type": j.does.Type, "message": j.does.Message}}}
		case !j.does.Fails && j.does.Result != nil:
			return reply{status: http.StatusOK, body: map[string]any{"result": j.does.Result}}
		}
	}
	return wrong(http.StatusNotFound, "nothing was left there")
}
