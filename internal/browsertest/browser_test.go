package browsertest_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"pulley/internal/browsertest"
	"pulley/internal/depth"
	"pulley/internal/pause"
	"pulley/internal/procenv"
)

// role is what a copy of this test binary does: "hang" with an open browser, or "skip" without one.
const role = "PULLEY_BROWSERTEST_ROLE"

func TestMain(m *testing.M) { os.Exit(browsertest.Run(m)) }

func TestCopy(t *testing.T) {
	switch os.Getenv(role) {
	case "hang":
		b := browsertest.New(t)
		fmt.Println("open", browsertest.Eval[string](b, `document.readyState`))
		<-t.Context().Done() // killed before that
	case "skip":
		browsertest.New(t)
	default:
		t.Skip("this is run by other tests")
	}
}

func copyOf(ctx context.Context, as string, more ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestCopy$", "-test.v")
	c.Env = append(os.Environ(), append([]string{role + "=" + as}, more...)...)
	return c
}

// Tests that are killed must leave no process of the browser.
func TestNothingIsLeft(t *testing.T) {
	browsertest.New(t) // skips where there is no browser
	ctx, cancel := depth.Within(t.Context(), t, time.Minute)
	defer cancel()
	mark := fmt.Sprintf("PULLEY_BROWSERTEST_MARK=%d-%d", os.Getpid(), time.Now().UnixNano())
	c := copyOf(ctx, "hang", mark)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "open ") {
	}
	if n := len(procenv.Find(mark, procenv.Glance)); n < 3 {
		t.Errorf("%d processes while the page is open", n)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	for len(procenv.Find(mark, procenv.Glance)) > 0 {
		if pause.For(ctx, 20*time.Millisecond) != nil {
			t.Fatalf("still there: %v", procenv.Find(mark, procenv.Glance))
		}
	}
}

// A missing browser must skip a test in one line, and fail it with CI=true.
func TestWithoutABrowser(t *testing.T) {
	for ci, want := range map[string]string{"": "--- SKIP: TestCopy", "true": "--- FAIL: TestCopy"} {
		ctx, cancel := depth.Within(t.Context(), t, time.Minute)
		defer cancel()
		out, _ := copyOf(ctx, "skip", "PATH="+t.TempDir(), "CI="+ci, depth.AloneVariable+"=").CombinedOutput()
		if text := string(out); !strings.Contains(text, want) || strings.Count(text, "no Chromium is at hand: install the package chromium") != 1 {
			t.Errorf("CI=%q: %s", ci, text)
		}
	}
}

// A page that is not quiet must be heard.
func TestAPageIsHeard(t *testing.T) {
	b := browsertest.New(t)
	b.Open([]byte(`<!DOCTYPE html><title>t</title><script>console.log("hello"); const i = new Image(); i.src = "http://there.invalid/x.png"; i.onerror = () => { document.title = "done"; throw new Error("broken"); };</script>`))
	b.Until(`document.title === "done"`)
	said := strings.Join(b.Said(), "\n")
	for _, want := range []string{`console.log: "hello"`, "request: http://there.invalid/x.png", "broken"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not among what the page said: %s", want, said)
		}
	}
	b.Open([]byte(`<!DOCTYPE html><title>t</title>`))
	b.Said()
}
