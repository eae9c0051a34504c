package metrics_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/memory"
	"pulley/engine/ir"
	"pulley/engine/metrics"
	"pulley/engine/plan"
	"pulley/engine/worker"
)

const program = `
fn main(input: [], output: [x]):
    try:
        x = @fails()
    except:
        x = @works()
`

// ran returns the metrics of an engine that ran an instance with two actions, one of which failed.
func ran(t testing.TB) *metrics.Metrics {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	actions, err := worker.NewRegistry(
		worker.Action{Name: "fails", Run: func(context.Context, worker.Call) (any, error) { return nil, errors.New("no") }},
		worker.Action{Name: "works", Run: func(context.Context, worker.Call) (any, error) { return 1, nil }},
	)
	if err != nil {
		t.Fatal(err)
	}
	store := memory.New(memory.Options{})
	defer store.Close()
	m := metrics.New()
	seen := 0
	e, err := engine.New(engine.Config{
		Backend: store, Workers: m.Workers(actions), LeaveUnknown: true, // a Knower is needed
		Observer: m.Observer(engine.Observer{Ended: func(backend.Instance, time.Time) { seen++ }}),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(ctx); err != nil {
		t.Fatal(err)
	}
	p, err := plan.CompileText("p.ir", []byte(program), ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	id, err := e.Submit(ctx, engine.SubmitRequest{Program: p})
	if err != nil {
		t.Fatal(err)
	}
	if inst, err := e.Wait(ctx, id); err != nil || inst.Status != backend.Completed {
		t.Fatalf("%+v, %v", inst, err)
	}
	if err := e.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if seen != 1 {
		t.Errorf("the other observer saw %d instances end", seen)
	}
	return m
}

func read(t testing.TB, m *metrics.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Fatalf("%d, %v", w.Code, w.Header())
	}
	return w.Body.String()
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	m := ran(t)
	text := read(t, m)
	for _, want := range []string{
		`pulley_attempts_total{action="fails",result="failed"} 1`, `pulley_attempts_total{action="fails",result="completed"} 0`,
		`pulley_attempts_total{action="works",result="completed"} 1`, `pulley_attempts_total{action="works",result="died"} 0`,
		`pulley_attempt_seconds_bucket{action="works",le="+Inf"} 1`, `pulley_attempt_seconds_count{action="works"} 1`,
		"pulley_attempts_running 0", `pulley_deliveries_total{action="works"} 1`, `pulley_completions_total{answer="applied"} 2`,
		`pulley_completions_total{answer="stale"} 0`, "pulley_commits_total 2", "pulley_instances_submitted_total 1",
		`pulley_instances_ended_total{status="completed"} 1`, `pulley_instances_ended_total{status="failed"} 0`, "pulley_instances_purged_total 0",
		"pulley_problems_total 0", "process_resident_memory_bytes ", "go_goroutines ",
	} {
		if !strings.Contains("\n"+text, "\n"+want) {
			t.Errorf("%s is not in\n%s", want, text)
		}
	}
	w := httptest.NewRecorder()
	if m.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/metrics", nil)); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("a POST is answered with %d", w.Code)
	}
}

// The client library of Prometheus' own project reads the numbers, whatever the actions' names are, and of thousands of names too.
func TestOfficialParserReadsIt(t *testing.T) {
	t.Parallel()
	python := ""
	for _, path := range []string{"python3", "/usr/bin/python3"} { // Debian's package is for Debian's Python, which may not come first
		if exec.Command(path, "-c", "import prometheus_client").Run() == nil {
			python = path
			break
		}
	}
	if python == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("CI must have python3-prometheus-client")
		}
		t.Skip("this needs python3-prometheus-client")
	}
	m := ran(t)
	observer := m.Observer(engine.Observer{})
	names := []string{"a\"} 1\nevil_total 7", `back\slash`, "é 日本", "\xff\xfe", ""}
	for i := range 3000 {
		names = append(names, fmt.Sprint("action", i))
	}
	for _, name := range names {
		observer.Leased(backend.Task{Action: name}, time.Now())
	}
	const script = `
import sys
from prometheus_client.parser import text_string_to_metric_families
samples = [s for f in text_string_to_metric_families(sys.stdin.read()) for s in f.samples]
delivered = [s for s in samples if s.name == "pulley_deliveries_total"]
print(len(delivered), "evil_total" in {s.name for s in samples}, sorted(s.labels["action"] for s in delivered)[:1], [s.value for s in delivered if s.labels["action"] == "other"])
`
	cmd := exec.Command(python, "-c", script)
	cmd.Stdin = strings.NewReader(read(t, m))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	// Two actions of the engine, 998 names, and all that are beyond as one. An action without a name is a sleep.
	want := fmt.Sprintf("1001 False ['a\"} 1\\nevil_total 7'] [%d.0]\n", len(names)-1-998)
	if string(out) != want {
		t.Errorf("it reads %s, want %s", out, want)
	}
}

// Every number that the dashboard asks for is there, and it shows all that the package counts.
func TestDashboard(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../packaging/grafana-pulley.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Title  string
		Panels []struct {
			ID          int
			Title       string
			Type        string
			Description string
			Targets     []struct{ Expr string }
			GridPos     struct{ X, Y, W, H int }
		}
	}
	if err := json.Unmarshal(data, &board); err != nil || board.Title == "" || len(board.Panels) == 0 {
		t.Fatalf("%v: %+v", err, board)
	}
	there := map[string]bool{}
	for line := range strings.Lines(read(t, ran(t))) {
		if name := regexp.MustCompile(`^[a-z_]+`).FindString(line); name != "" {
			there[name] = true
		}
	}
	asked := map[string]bool{}
	for _, p := range board.Panels {
		if p.Title == "" || p.Description == "" || p.Type != "timeseries" || p.GridPos.W == 0 || len(p.Targets) == 0 {
			t.Errorf("panel %d: %+v", p.ID, p)
		}
		for _, target := range p.Targets {
			found := regexp.MustCompile(`\b(pulley|process|go)_[a-z_]+`).FindAllString(target.Expr, -1)
			if len(found) == 0 {
				t.Errorf("panel %s asks for nothing: %s", p.Title, target.Expr)
			}
			for _, name := range found {
				if asked[name] = true; !there[name] {
					t.Errorf("panel %s asks for %s, which is not there", p.Title, name)
				}
			}
		}
	}
	for name := range there {
		base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
		if strings.HasPrefix(name, "pulley_") && !asked[name] && !asked[base+"_bucket"] {
			t.Errorf("no panel shows %s", name)
		}
	}
}

// An embedding program counts what its engine does.
func ExampleMetrics() {
	actions, err := worker.NewRegistry()
	if err != nil {
		fmt.Println(err)
		return
	}
	store := memory.New(memory.Options{})
	defer store.Close()
	numbers := metrics.New()
	e, err := engine.New(engine.Config{Backend: store, Workers: numbers.Workers(actions), Observer: numbers.Observer(engine.Observer{})})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = e.Stop(context.Background()) }()
	mux := http.NewServeMux()
	mux.Handle("/metrics", numbers)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	fmt.Println(w.Code, strings.Contains(w.Body.String(), "pulley_attempts_running 0"))
	// Output:
	// 200 true
}
