package serve

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pulley/internal/browsertest"
	"pulley/reports/page"
	"pulley/reports/record"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Run(m)) }

// visit opens a page of a server in a browser. A tab fails the test if the page breaks its own policy, or asks for anything else.
func visit(t *testing.T, s *testServer, path string) *browsertest.Tab {
	t.Helper()
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	t.Cleanup(s.stop) // ends streams, for which the server would wait
	b := browsertest.New(t)
	b.Visit(server.URL, path)
	return b
}

func TestBrowserFollowsARunToItsReport(t *testing.T) {
	s := newServer(t)
	s.times.poll = 10 * time.Millisecond
	s.progress("night/live")
	b := visit(t, s, "/live/night/live")
	b.Until(`document.getElementById("counts").textContent === "3/12 runs" && document.getElementById("share").value === 0.25`)
	s.progress("night/live", func(p *record.Progress) {
		p.Done, p.What, p.Warning, p.Warnings, p.Lines = 6, "<img src=x onerror=alert(1)>", "it rained", 1, []string{"first", "<b>second</b>"}
	})
	b.Until(`document.getElementById("answer").textContent === "<img src=x onerror=alert(1)>"`)
	b.Until(`document.getElementById("lines").firstChild.textContent === "<b>second</b>" && document.getElementById("warning").textContent === "it rained"`)
	b.Until(`document.title.startsWith("50 %")`)
	s.write("night/live/load.json", "The answer.")
	if err := os.Remove(filepath.Join(s.dir, "night/live", record.ProgressFile)); err != nil {
		t.Fatal(err)
	}
	b.Arrives(`location.pathname === "/run/night/live" && document.querySelector("h1").textContent === "The answer."`)
	b.Do(`document.querySelector(".above a").click()`)
	b.Arrives(`location.pathname === "/" && document.querySelector("tbody a").textContent === "night/live"`)
}

func TestBrowserFollowsARunThatFails(t *testing.T) {
	s := newServer(t)
	s.times.poll = 10 * time.Millisecond
	s.progress("live")
	b := visit(t, s, "/live/live")
	b.Until(`document.getElementById("lines").children.length === 2`)
	s.progress("live", func(p *record.Progress) { p.State, p.Error = record.StateFailed, "no Postgres answers" })
	b.Arrives(`document.getElementById("state").textContent === "Failed: no Postgres answers" && !document.querySelector("main").dataset.events`)
}

func TestBrowserSortsTheListAndComparesTwo(t *testing.T) {
	s := newServer(t, func(c *Config) {
		c.Beside = func(candidate, baseline string) (*page.Page, error) {
			return &page.Page{Kind: "report", Answer: filepath.Base(candidate) + " over " + filepath.Base(baseline), Tool: "pulley"}, nil
		}
	})
	for _, name := range []string{"a", "b", "c"} {
		s.write(name+"/summary.json", "answer "+name)
		s.write(name+"/manifest.json", "{}")
	}
	b := visit(t, s, "/")
	const names = `[...document.querySelectorAll("tbody th")].map((e) => e.textContent).join("")`
	b.Until(`document.querySelector("thead button") !== null`)
	b.Do(`document.querySelector("thead button").click()`)
	if got := browsertest.Eval[string](b, names); got != "abc" {
		t.Errorf("by name, the runs are %s", got)
	}
	b.Do(`document.querySelector("input[name=candidate][value=c]").click(); document.querySelector("input[name=baseline][value=a]").click(); document.querySelector("form button").click()`)
	b.Arrives(`location.pathname === "/beside" && document.querySelector("h1").textContent === "c over a"`)
}
