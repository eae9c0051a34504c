package main

import (
	"compress/gzip"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"pulley/cmd/pulley/console"
	"pulley/internal/pgtest"
)

// spanCollector keeps the spans that it is sent with the key, by name, and how many instances completed by the metrics.
type spanCollector struct {
	mu        sync.Mutex
	spans     map[string]*v1.Span
	completed float64
	engine    string
	err       error
}

func (s *spanCollector) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	zipped, err := gzip.NewReader(r.Body)
	if err != nil || r.Header.Get("key") != "secret" {
		s.err = errors.Join(err, errors.New("another key"))
		return
	}
	text, err := io.ReadAll(zipped)
	switch r.URL.Path {
	case "/prefix/v1/traces":
		s.takeSpans(text, err)
	case "/prefix/v1/metrics":
		s.takeMetrics(text, err)
	default:
		s.err = errors.New("another request: " + r.URL.Path)
	}
}

func (s *spanCollector) takeMetrics(text []byte, err error) {
	request := pmetricotlp.NewExportRequest()
	if s.err = errors.Join(s.err, err, request.UnmarshalProto(text)); s.err != nil {
		return
	}
	all := request.Metrics().ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics()
	for i := range all.Len() {
		if m := all.At(i); m.Name() == "pulley_instances_ended_total" {
			for k := range m.Sum().DataPoints().Len() {
				if status, _ := m.Sum().DataPoints().At(k).Attributes().Get("status"); status.AsString() == "completed" {
					s.completed = m.Sum().DataPoints().At(k).DoubleValue()
				}
			}
		}
	}
}

func (s *spanCollector) takeSpans(text []byte, err error) {
	var sent v1.TracesData
	if s.err = errors.Join(s.err, err, proto.Unmarshal(text, &sent)); s.err != nil {
		return
	}
	for _, resource := range sent.GetResourceSpans() {
		for _, a := range resource.GetResource().GetAttributes() {
			if a.GetKey() == "service.instance.id" {
				s.engine = a.GetValue().GetStringValue()
			}
		}
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				s.spans[span.GetName()] = span
			}
		}
	}
}

// A collector gets all spans and the last metrics by the end of pulley work, and programs that run actions learn theirs.
func TestSpansOfWork(t *testing.T) {
	t.Parallel()
	collector := &spanCollector{spans: map[string]*v1.Span{}}
	server := httptest.NewServer(collector)
	defer server.Close()
	prog := file(t, "flow.ir", "fn main(input: [], output: [x]):\n    x = @parent()\n")
	actions := file(t, "actions.yaml", `actions: {parent: {process: [sh, -c, 'printf "\"%s\"" "$TRACEPARENT"']}}`)
	where := []string{"--dsn", pgtest.DSN(t), "--schema", pgtest.SchemaOf(t, "push")}
	cmd := raceCommand(t, append([]string{"work", "--actions", actions, "--spans", server.URL + "/prefix/", "--metrics-to", server.URL + "/prefix"}, where...)...)
	cmd.Env = append(cmd.Env, "OTEL_EXPORTER_OTLP_HEADERS=key=secret", "TRACEPARENT=of another span")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSpace(call(t, nil, append([]string{"submit", prog}, where...)...).out)
	got := call(t, nil, append([]string{"wait", id}, where...)...)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := exitStatus(t, cmd.Wait()); code != 128+int(syscall.SIGTERM) || collector.err != nil {
		t.Errorf("status %d, %v\n%s", code, collector.err, stderr.String())
	}
	whole, attempt := collector.spans["flow.ir"], collector.spans["@parent"]
	if whole == nil || attempt == nil || hex.EncodeToString(whole.GetTraceId()) != strings.ReplaceAll(id, "-", "") || string(attempt.GetParentSpanId()) != string(whole.GetSpanId()) {
		t.Fatalf("spans %v of instance %s\n%s", collector.spans, id, stderr.String())
	}
	if want := "completed: \"00-" + strings.ReplaceAll(id, "-", "") + "-" + hex.EncodeToString(attempt.GetSpanId()) + "-01\"\n"; got.out != want {
		t.Errorf("%+v; want %s", got, want)
	}
	if collector.completed != 1 {
		t.Errorf("%g instances completed, by the metrics", collector.completed)
	}
	if !strings.Contains(collector.engine, ":") {
		t.Errorf("the engine's name is %q", collector.engine)
	}
}

// A collector that is not there costs spans, and nothing else.
func TestWorkWithoutCollector(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	prog := file(t, "flow.ir", "fn main(input: [], output: [x]):\n    x = @noop()\n")
	where := []string{"--dsn", pgtest.DSN(t), "--schema", pgtest.SchemaOf(t, "push")}
	cmd := command(t, append([]string{"work", "--spans", server.URL, "--metrics-to", server.URL}, where...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSpace(call(t, nil, append([]string{"submit", prog}, where...)...).out)
	if got := call(t, nil, append([]string{"wait", id}, where...)...); got.code != 0 {
		t.Errorf("%+v", got)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := exitStatus(t, cmd.Wait()); code != 128+int(syscall.SIGTERM) || !strings.Contains(stderr.String(), "2 spans could not be sent") || !strings.Contains(stderr.String(), "pulley: sending metrics: ") {
		t.Errorf("status %d, %s", code, stderr.String())
	}
	for want, flags := range map[string][]string{
		"--spans: write the address of a collector, as in http://127.0.0.1:4318": {"--spans", "127.0.0.1:4318"},
		"put what the collector demands of its callers into the environment":     {"--spans", "http://me:secret@127.0.0.1:4318"},
		"--metrics-to: write the address of a collector, as in http://127.0.0.1": {"--metrics-to", "127.0.0.1:4318"},
		"--spans-part 0: choose a part up to 1":                                  {"--spans", "http://127.0.0.1:4318", "--spans-part", "0"},
		"there are no spans without --spans; add it":                             {"--spans-part", "0.5"},
	} {
		got := call(t, nil, append(append([]string{"work"}, flags...), where...)...)
		if got.code != console.ExitUsage || !strings.Contains(got.err, want) || strings.Contains(got.err, "secret") {
			t.Errorf("%+v", got)
		}
	}
}
