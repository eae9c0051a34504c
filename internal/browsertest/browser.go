// Package browsertest opens pages in a browser, for tests: Debian's Chromium, or another one that speaks its protocol.
//
// The tests of a package share one browser, which [Run] ends. A test has a tab for itself, with a deadline. A tab notes what a
// page says to the console, asks the network for and does behind the back of its policy; a test fails if there is anything.
package browsertest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"pulley/internal/depth"
)

// patience is for one test.
const patience = 2 * time.Minute

// farewell is the time in which the browser may end by itself.
const farewell = 10 * time.Second

// programs are names under which the browser is looked for.
var programs = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"}

// shared is the browser of a test binary.
var shared struct {
	sync.Mutex
	ctx  context.Context
	end  context.CancelFunc
	err  error
	idle []*session
}

// Run runs the tests of a package, and ends the browser that they shared. The kernel ends it, too, if the tests are killed.
func Run(m interface{ Run() int }) int {
	defer func() {
		shared.Lock()
		defer shared.Unlock()
		if shared.end != nil {
			shared.end()
		}
	}()
	return m.Run()
}

var errMissing = errors.New("no Chromium is at hand: install the package chromium")

func find() (string, error) {
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errMissing
}

// browser starts the browser at the first call. With CI=true, a missing one fails the test, otherwise it is skipped.
func browser(t testing.TB) context.Context {
	t.Helper()
	depth.Needs(t, "a browser")
	shared.Lock()
	defer shared.Unlock()
	if shared.ctx == nil && shared.err == nil {
		shared.ctx, shared.end, shared.err = start()
	}
	switch {
	case errors.Is(shared.err, errMissing) && os.Getenv("CI") != "true":
		t.Skip(shared.err)
	case shared.err != nil:
		t.Fatal(shared.err)
	}
	return shared.ctx
}

func start() (context.Context, context.CancelFunc, error) {
	program, err := find()
	if err != nil {
		return nil, nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.WSURLReadTimeout(time.Minute),
		chromedp.Flag("disable-gpu", true), chromedp.Flag("hide-scrollbars", true), chromedp.Flag("font-render-hinting", "none"),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"), // nothing reaches a network; the machine itself has servers of tests
	)
	if os.Geteuid() == 0 || os.Getenv("CI") == "true" {
		options = append(options, chromedp.NoSandbox) // root has none, nor have most containers; all pages are the tests' own
	}
	allocator, endAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, endBrowser := chromedp.NewContext(allocator, chromedp.WithErrorf(func(string, ...any) {})) // events that a newer browser has
	end := func() {
		closing, stop := context.WithTimeout(ctx, farewell)
		defer stop()
		_ = chromedp.Cancel(closing) // waits for the end of its processes
		endBrowser()
		endAllocator()
	}
	if err := chromedp.Do(ctx); err != nil {
		end()
		return nil, nil, err
	}
	return ctx, end, nil
}
