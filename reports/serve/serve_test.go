package serve

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pulley/reports/page"
	"pulley/reports/record"
)

const testAddress = "127.0.0.1:8090"

// testServer has reports that are the text of a record, and counts how often one is laid out.
type testServer struct {
	*Server
	t     *testing.T
	dir   string
	opens atomic.Int32
}

func newServer(t *testing.T, change ...func(*Config)) *testServer {
	t.Helper()
	cfg := Config{Dir: t.TempDir(), Address: testAddress}
	for _, f := range change {
		f(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	out := &testServer{Server: s, t: t, dir: cfg.Dir}
	s.open = func(dir string) (*page.Page, error) {
		out.opens.Add(1)
		text, err := os.ReadFile(filepath.Join(dir, record.LoadFile))
		if errors.Is(err, os.ErrNotExist) {
			text, err = os.ReadFile(filepath.Join(dir, record.SummaryFile))
		}
		if err != nil {
			return nil, err
		}
		switch {
		case strings.HasPrefix(string(text), "broken"):
			return nil, fmt.Errorf("read %s: is broken", filepath.Join(dir, record.LoadFile))
		case strings.HasPrefix(string(text), "panic"):
			panic("nobody has thought of this")
		}
		return &page.Page{Kind: "bench", Answer: string(text), State: page.State{Text: "fine", Mark: page.Good}, Repeat: "pulley bench", Tool: "pulley"}, nil
	}
	return out
}

// write writes a file below the directory.
func (s *testServer) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
		s.t.Fatal(err)
	}
	s.forget()
}

// forget makes the next list scan again.
func (s *testServer) forget() {
	s.scanning.Lock()
	defer s.scanning.Unlock()
	s.scanned = nil
}

// progress writes that a run is under way.
func (s *testServer) progress(name string, change ...func(*record.Progress)) {
	s.t.Helper()
	p := &record.Progress{
		Kind: "compare", Command: []string{"pulley", "compare"}, StartedAt: time.Now(), At: time.Now(), State: record.StateRunning,
		What: "chain on push", Done: 3, Total: 12, Unit: "runs", Lines: []string{"first", "second"},
	}
	for _, f := range change {
		f(p)
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(s.dir, name), 0o777), record.WriteProgress(filepath.Join(s.dir, name), p)); err != nil {
		s.t.Fatal(err)
	}
	s.forget()
}

// get asks as a browser does whose user has typed the address.
func (s *testServer) get(target string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	s.t.Helper()
	q := httptest.NewRequest(http.MethodGet, "http://"+testAddress+"/", nil)
	q.URL.Path, q.URL.RawPath = target, ""
	if path, query, has := strings.Cut(target, "?"); has {
		q.URL.Path, q.URL.RawQuery = path, query
	}
	for _, f := range change {
		f(q)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, q)
	return w
}

func (s *testServer) want(target string, status int, parts ...string) string {
	s.t.Helper()
	got := s.get(target)
	if got.Code != status {
		s.t.Errorf("%s: status %d, want %d: %.300s", target, got.Code, status, got.Body)
	}
	body := got.Body.String()
	for _, part := range parts {
		if !strings.Contains(body, part) {
			s.t.Errorf("%s has no %q: %.2000s", target, part, main(body))
		}
	}
	return body
}

// main is the part of a page that differs.
func main(body string) string {
	if i, end := strings.Index(body, "<header>"), strings.Index(body, "</main>"); i >= 0 && end > i {
		return body[i:end]
	}
	return body
}

func TestListOfAnEmptyDirectory(t *testing.T) {
	newServer(t).want("/", 200, "There is no run here yet")
}

func TestListHasRunsNewestFirst(t *testing.T) {
	s := newServer(t)
	s.write("old/load.json", "the old answer")
	s.write("a/b/new/load.json", "the new answer")
	s.write("broken/load.json", "broken")
	s.write("panic/load.json", "panic")
	s.write("other/notes.txt", "no record")
	s.write(".hidden/load.json", "hidden")
	s.write("load.json", "its own")
	for i, name := range []string{"a/b/new", "broken", "panic", "old", "."} {
		at := time.Unix(int64(1e9-i*1000), 0)
		if err := os.Chtimes(filepath.Join(s.dir, name, "load.json"), at, at); err != nil {
			t.Fatal(err)
		}
	}
	body := s.want("/", 200, `<a href="/run/a/b/new">a/b/new</a>`, "the new answer", "✓</span> fine", "5 runs", "2001-09-09 01:46:40 UTC", "pulley bench",
		"read broken/load.json: is broken", "Cannot be read", "the record cannot be laid out: nobody has thought of this", `<a href="/run/">`)
	order := regexp.MustCompile(`href="/run/[^"]*"`).FindAllString(body, -1)
	if want := `[href="/run/a/b/new" href="/run/broken" href="/run/panic" href="/run/old" href="/run/"]`; fmt.Sprint(order) != want {
		t.Errorf("the order is %v, want %v", order, want)
	}
	if body = main(body); strings.Contains(body, s.dir) || strings.Contains(body, ".hidden") || strings.Contains(body, "candidate") {
		t.Error("the list says more than it should")
	}
	s.want("/run/broken", 422, "read broken/load.json: is broken")
	s.want("/run/panic", 422, "cannot be laid out")
	s.want("/run/.hidden", 404)
	s.want("/run/other", 404)
	s.want("/run/", 200, "its own")
	s.want("/nothing", 404)
	s.want("/?page=0", 400)
	s.want("/?page=x", 400)
	s.want("/?page=9", 200, "the new answer") // the last page
}

func TestListIsBounded(t *testing.T) {
	s := newServer(t)
	s.tree.most = bounds{depth: 2, folders: 60, runs: 55, entries: 80, record: 100}
	for i := range 70 {
		s.write(fmt.Sprintf("r%03d/load.json", i), "answer")
	}
	body := s.want("/", 200, "Only the first 60 folders were searched.", "There are 59 runs; the newest 55 are here.", "Page 1 of 2", `href="/?page=2"`)
	if n := strings.Count(body, `<th scope="row">`); n != rowsMost {
		t.Errorf("a page has %d runs, want %d", n, rowsMost)
	}
	if n := strings.Count(s.want("/?page=2", 200, `href="/?page=1"`), `<th scope="row">`); n != 5 {
		t.Errorf("the second page has %d runs, want 5", n)
	}
	if n := s.opens.Load(); n != 55 {
		t.Errorf("%d records were laid out", n)
	}
	s = newServer(t)
	s.tree.most = bounds{depth: 2, folders: 100, runs: 55, entries: 80, record: 100}
	s.write("a/b/c/load.json", "too deep")
	s.write("large/load.json", strings.Repeat("x", 101))
	for i := range 200 {
		s.write(fmt.Sprintf("many/f%03d", i), "")
	}
	body = s.want("/", 200, "Folders more than 2 levels down were not searched.", "Of folders with more than 80 entries", "the record has 101 bytes")
	if strings.Contains(body, "too deep") {
		t.Error("a folder is listed that is too deep")
	}
	s.want("/run/a/b/c", 404)
	s.want("/run/large", 422)
	if s.opens.Load() != 0 {
		t.Error("a record is opened that is too large")
	}
}

func TestNamesAndTextsAreEscaped(t *testing.T) {
	s := newServer(t, func(c *Config) { c.Beside = func(_, _ string) (*page.Page, error) { return nil, nil } })
	hostile := `<img src=x onerror=alert(1)>`
	s.write(hostile+"/load.json", "<script>alert(2)</script>\x1b[2J")
	s.write("quote\"'&?#%/load.json", "answer")
	s.progress("live", func(p *record.Progress) {
		p.What, p.Detail, p.Warning, p.Lines, p.Command = "<b>w", "<b>d", "<b>!", []string{"</li><script>"}, []string{"<b>"}
	})
	for _, target := range []string{"/", "/live/live", "/run/" + hostile} {
		body := main(s.want(target, 200))
		for _, bad := range []string{"<img", "<b>", "<script>alert", "</li><script>"} {
			if strings.Contains(body, bad) {
				t.Errorf("%s has %s", target, bad)
			}
		}
	}
	s.want("/", 200, `href="/run/quote%22%27&amp;%3F%23%25"`)
	s.want("/run/quote\"'&?#%", 404) // as a query
	if got := s.get("/run/", func(q *http.Request) { q.URL.Path = "/run/quote\"'&?#%" }); got.Code != 200 {
		t.Errorf("status %d", got.Code)
	}
}

// The policy admits exactly what a page has.
func TestPolicyAdmitsWhatPagesHave(t *testing.T) {
	s := newServer(t)
	s.write("r/load.json", "answer")
	s.progress("live")
	for target, connects := range map[string]bool{"/": false, "/run/r": false, "/live/live": true} {
		got := s.get(target)
		policy, body := got.Header().Get("Content-Security-Policy"), got.Body.String()
		for _, found := range regexp.MustCompile(`(?s)<(style|script)>(.*?)</(?:style|script)>`).FindAllStringSubmatch(body, -1) {
			if !strings.Contains(policy, page.Hash(found[2])) {
				t.Errorf("%s: the policy does not admit a %s", target, found[1])
			}
		}
		for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: the policy has no %s: %s", target, want, policy)
			}
		}
		if strings.Contains(policy, "connect-src 'self'") != connects || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: the policy is %s", target, policy)
		}
		if regexp.MustCompile(` (style|on\w+)=`).MatchString(main(body)) {
			t.Errorf("%s has a style or a script in an attribute", target)
		}
	}
}

func TestReportIsKeptUntilItsRecordChanges(t *testing.T) {
	s := newServer(t)
	s.write("r/load.json", "first")
	for range 3 {
		s.want("/run/r", 200, "<h1>first</h1>", `<a href="/">← All runs</a>`)
		s.want("/", 200, "first")
	}
	if n := s.opens.Load(); n != 1 {
		t.Errorf("laid out %d times", n)
	}
	s.write("r/load.json", "second one")
	s.want("/run/r", 200, "<h1>second one</h1>")
	s.want("/", 200, "second one")
	if n := s.opens.Load(); n != 2 {
		t.Errorf("laid out %d times", n)
	}
	s.pages.most, s.heads.most = 0, 0 // nothing fits
	s.write("r/load.json", "the third")
	s.want("/run/r", 200, "<h1>the third</h1>")
}

// A record that is replaced while it is read could have been a link for that moment.
func TestReportOfARecordThatChangesIsNotShown(t *testing.T) {
	s := newServer(t)
	s.write("r/load.json", "first")
	inner := s.open
	s.open = func(dir string) (*page.Page, error) {
		p, err := inner(dir)
		s.write("r/load.json", fmt.Sprintf("%*d", s.opens.Load(), 0))
		return p, err
	}
	s.want("/run/r", 503, "is being written")
	s.want("/", 200, "is being written")
}

func TestCacheKeepsWhatWasUsedLast(t *testing.T) {
	c := newCache[int](10)
	for i := range 5 {
		c.put(fmt.Sprint(i), i, 3)
		if _, found := c.get("0"); i > 0 && !found {
			t.Errorf("after %d, what was just used is not kept", i)
		}
	}
	if _, found := c.get("2"); found || c.used > c.most || len(c.at) != c.order.Len() {
		t.Errorf("%d of %d used, %d entries", c.used, c.most, len(c.at))
	}
	c.put("large", 1, 11)
	if _, found := c.get("large"); found || c.used > 10 {
		t.Error("more is kept than fits")
	}
	c.put("0", 9, 1)
	if v, _ := c.get("0"); v != 9 {
		t.Errorf("an old value is kept: %d", v)
	}
}

func TestManyAtOnce(t *testing.T) {
	s := newServer(t)
	var most, now atomic.Int32
	inner := s.open
	s.open = func(dir string) (*page.Page, error) {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer now.Add(-1)
		return inner(dir)
	}
	for i := range 10 {
		s.write(fmt.Sprintf("r%d/load.json", i), "answer")
	}
	s.progress("live")
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			s.want("/", 200)
			s.want(fmt.Sprintf("/run/r%d", i%10), 200, "answer")
			s.want("/live/live", 200, "chain on push")
		})
	}
	all.Wait()
	if most.Load() > rendersMost {
		t.Errorf("%d reports are laid out at once", most.Load())
	}
}

func TestTooManyRenderingsAreRefused(t *testing.T) {
	s := newServer(t)
	s.write("r/load.json", "answer")
	for range rendersMost {
		s.renders <- struct{}{}
	}
	closed := func(q *http.Request) { // a request that does not wait
		ctx, cancel := contextEnded(q)
		cancel()
		*q = *q.WithContext(ctx)
	}
	if got := s.get("/run/r", closed); got.Code != 503 || got.Header().Get("Retry-After") == "" {
		t.Errorf("status %d: %s", got.Code, got.Body)
	}
	if got := s.get("/", closed); got.Code != 200 || !strings.Contains(got.Body.String(), "Not read yet") {
		t.Errorf("status %d: %s", got.Code, main(got.Body.String()))
	}
}

func TestBeside(t *testing.T) {
	var got []string
	s := newServer(t, func(c *Config) {
		c.Beside = func(candidate, baseline string) (*page.Page, error) {
			got = []string{candidate, baseline}
			return &page.Page{Kind: "compare", Answer: "the candidate is faster", Tool: "pulley"}, nil
		}
	})
	for _, name := range []string{"a/summary.json", "a/manifest.json", "b/summary.json", "b/manifest.json", "bench/load.json", "linked/summary.json"} {
		s.write(name, "answer")
	}
	if err := os.Symlink(filepath.Join(s.dir, "a", "manifest.json"), filepath.Join(s.dir, "linked", "manifest.json")); err != nil {
		t.Fatal(err)
	}
	s.progress("live")
	if n := strings.Count(s.want("/", 200), `name="candidate"`); n != 2 {
		t.Errorf("%d runs can be chosen, want 2", n)
	}
	s.want("/", 200, `name="candidate" value="a"`, `name="baseline" value="b"`)
	s.want("/beside?candidate=a&baseline=b", 200, "the candidate is faster", `<a href="/run/a">Candidate</a>`)
	if want := []string{filepath.Join(s.dir, "a"), filepath.Join(s.dir, "b")}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("compared: %v, want %v", got, want)
	}
	s.want("/beside?candidate=a", 400)
	s.want("/beside?candidate=a&baseline=a", 400)
	s.want("/beside?candidate=a&baseline=../b", 404)
	for _, other := range []string{"live", "bench", "linked"} {
		s.want("/beside?candidate=a&baseline="+other, 422)
	}
	newServer(t).want("/beside?candidate=a&baseline=b", 404)
}

func TestHeadHasNoBody(t *testing.T) {
	s := newServer(t)
	s.write("r/load.json", "answer")
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	for _, path := range []string{"/", "/run/r"} {
		got, err := http.Head(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(got.Body)
		_ = got.Body.Close()
		if got.StatusCode != 200 || len(body) != 0 || got.ContentLength <= 0 {
			t.Errorf("%s: status %d, %d bytes of %d", path, got.StatusCode, len(body), got.ContentLength)
		}
	}
}
