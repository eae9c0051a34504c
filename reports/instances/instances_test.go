package instances

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/internal/browsertest"
	"pulley/internal/pgtest"
	"pulley/reports/serve"
)

// withServer stops the tests' database when the browser has ended.
type withServer struct{ m *testing.M }

func (w withServer) Run() int { return pgtest.Run(w.m) }

func TestMain(m *testing.M) { os.Exit(browsertest.Run(withServer{m})) }

func opened(t *testing.T) backend.Backend {
	t.Helper()
	spec, err := designs.Parse("push")
	if err != nil {
		t.Fatal(err)
	}
	b, err := spec.Open(t.Context(), designs.OpenOptions{DSN: pgtest.DSN(t), Schema: pgtest.SchemaOf(t, "push")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

const hostile = "<script>alert(1)</script>\x1b[31m\"'&"

// filled returns a store with an instance of each status, whose texts are hostile, and their ids by status.
func filled(t *testing.T) (Store, map[backend.Status]uuid.UUID) {
	t.Helper()
	b := opened(t)
	program, err := plan.CompileText(hostile+".ir", []byte(`fn main(input: [text], output: [r]):
    a, b = parallel:
        @add(a=text, b="x")
        @wait_signal(name="approved")
    r = @echo(value=[a, b])
`), ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	input, err := json.Marshal(map[string]string{"text": hostile})
	if err != nil {
		t.Fatal(err)
	}
	ids := map[backend.Status]uuid.UUID{}
	for _, status := range []backend.Status{backend.Completed, backend.Failed, backend.Canceled, backend.Running} {
		id := uuid.Must(uuid.NewV7())
		ids[status] = id
		out, err := b.Submit(t.Context(), []backend.Submission{{ID: id, Program: program, Input: input}}, backend.Grant{Owner: hostile, Max: 10, Lease: 1e12})
		if err != nil {
			t.Fatal(err)
		}
		for tasks := out.Tasks; len(tasks) > 0 && status != backend.Running && status != backend.Canceled; {
			done := backend.Completion{Lease: tasks[0].Lease, Program: program, Attempt: 1, Result: json.RawMessage(`"</code><b>"`)}
			if status == backend.Failed {
				done.Result, done.Failure = nil, &plan.Failure{Type: hostile, Message: hostile, Action: tasks[0].Action}
			}
			out, err := b.Complete(t.Context(), backend.ShardOf(id, b.Shards()), []backend.Completion{done}, backend.Grant{Owner: "x", Max: 10, Lease: 1e12})
			if err != nil {
				t.Fatal(err)
			}
			if status == backend.Completed && out.Outcomes[0].Answer != backend.Applied {
				t.Fatalf("%s: %+v", status, out.Outcomes)
			}
			tasks = append(tasks[1:], out.Tasks...)
		}
	}
	if _, err := b.(backend.Canceler).Cancel(t.Context(), []uuid.UUID{ids[backend.Canceled]}, hostile); err != nil {
		t.Fatal(err)
	}
	return Store{Backend: b.(backend.Inspector), Name: hostile, Tool: "pulley test"}, ids
}

func serving(t *testing.T, s Store) *httptest.Server {
	t.Helper()
	shown, err := serve.New(serve.Config{Instances: s, Address: "127.0.0.1:8090"})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(shown.Handler())
	t.Cleanup(func() {
		server.Close()
		if err := shown.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

func get(t *testing.T, server *httptest.Server, path string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	var body bytes.Buffer
	if _, err := body.ReadFrom(answer.Body); err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, body.String()
}

// The list and the pages say how instances are, and texts from the store stay texts.
func TestPages(t *testing.T) {
	s, ids := filled(t)
	server := serving(t, s)
	code, list := get(t, server, "/")
	if code != http.StatusOK || strings.Contains(list, "<script>alert") || strings.Contains(list, "\x1b") {
		t.Errorf("the list: %d, %d bytes", code, len(list))
	}
	for status, want := range map[backend.Status]string{
		backend.Running: "has leased until", backend.Completed: "It waits for nothing: it completed at", backend.Failed: "it failed at", backend.Canceled: "it was canceled at",
	} {
		id := ids[status].String()
		if !strings.Contains(list, `href="/instance/`+id+`"`) {
			t.Errorf("the list lacks the instance that is %s", status)
		}
		code, text := get(t, server, "/instance/"+id)
		if code != http.StatusOK || !strings.Contains(text, want) || !strings.Contains(text, `class="workflow"`) || strings.Contains(text, "<script>alert") || strings.Contains(text, "</code><b>") || strings.Contains(text, "\x1b") {
			t.Errorf("%s: %d, %d bytes; workflow drawn %t", status, code, len(text), strings.Contains(text, `class="workflow"`))
		}
		if _, some := get(t, server, "/?status="+string(status)); strings.Count(some, "/instance/") != 1 || !strings.Contains(some, id) {
			t.Errorf("the list of those that are %s has %d", status, strings.Count(some, "/instance/"))
		}
	}
	_, text := get(t, server, "/instance/"+ids[backend.Running].String())
	if !strings.Contains(text, "◀ 1 running") || !strings.Contains(text, "2 more") && strings.Count(text, "<tr>") < 3 {
		t.Errorf("a running instance has %d rows", strings.Count(text, "<tr>"))
	}
	for path, want := range map[string]int{
		"/instance/" + uuid.NewString(): http.StatusNotFound, "/instance/none": http.StatusNotFound, "/?status=lost": http.StatusBadRequest, "/?after=x": http.StatusBadRequest,
		"/run/x": http.StatusNotFound, "/beside": http.StatusNotFound,
	} {
		if code, text := get(t, server, path); code != want {
			t.Errorf("%s: %d, %s", path, code, text)
		}
	}
}

// A store that fails is said to fail, once in a line.
func TestStoreFails(t *testing.T) {
	s, ids := filled(t)
	server := serving(t, s)
	s.Backend.(backend.Backend).Close()
	for _, path := range []string{"/", "/instance/" + ids[backend.Running].String()} {
		if code, text := get(t, server, path); code != http.StatusBadGateway || strings.Count(text, "\n") != 1 {
			t.Errorf("%s: %d, %q", path, code, text)
		}
	}
}

// The list comes in parts.
func TestParts(t *testing.T) {
	b := opened(t)
	program, err := plan.CompileText("sleeps.ir", []byte("fn main(input: [], output: [x]):\n    sleep 1000\n    x = 1\n"), ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for range 2*listMost + 3 {
		id := uuid.Must(uuid.NewV7())
		want[id.String()] = true
		if _, err := b.Submit(t.Context(), []backend.Submission{{ID: id, Program: program, Input: json.RawMessage("{}")}}, backend.Grant{Owner: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	s := Store{Backend: b.(backend.Inspector), Name: "n"}
	q, parts := url.Values{"status": {"running"}, "workflow": {"sleeps.ir"}}, 0
	for ; len(want) > 0 && parts < 10; parts++ {
		list, err := s.List(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range list.Rows {
			if !want[row.ID] {
				t.Fatalf("%s is listed twice", row.ID)
			}
			delete(want, row.ID)
		}
		if list.Next == "" {
			break
		}
		q.Set("after", list.Next)
	}
	if len(want) > 0 {
		t.Errorf("%d are not listed in %d parts", len(want), parts)
	}
	if _, err := s.Instance(t.Context(), uuid.NewString()); !errors.Is(err, serve.ErrNoInstance) {
		t.Error(err)
	}
}

// A browser accepts the pages by their own policy, filters, and follows links.
func TestBrowser(t *testing.T) {
	s, ids := filled(t)
	server := serving(t, s)
	b := browsertest.New(t)
	b.Visit(server.URL, "/")
	b.Until(`document.querySelectorAll("tbody tr").length === 4`)
	b.Do(`document.querySelector("select").value = "running"; document.querySelector("form button").click()`)
	b.Arrives(`location.search.includes("status=running") && document.querySelectorAll("tbody tr").length === 1`)
	b.Do(`document.querySelector("tbody a").click()`)
	b.Arrives(`location.pathname === "/instance/` + ids[backend.Running].String() + `" && document.querySelector("svg.workflow") !== null`)
	b.Do(`document.querySelector(".above a").click()`)
	b.Arrives(`location.pathname === "/"`)
}
