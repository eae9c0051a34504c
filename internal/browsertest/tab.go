package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"pulley/internal/depth"
)

// Tab is a page in the browser. Its methods end the test if the browser refuses.
type Tab struct {
	t   testing.TB
	ctx context.Context

	mu       sync.Mutex
	said     []string
	requests []string
	server   string // may be asked
}

// New returns an empty tab of 1280 by 800, which ends with the test.
func New(t testing.TB) *Tab {
	t.Helper()
	b := &Tab{t: t}
	tab, closeTab := chromedp.NewContext(browser(t), chromedp.WithListener(b.hear))
	t.Cleanup(func() {
		closeTab()
		for _, s := range b.Said() {
			t.Errorf("the page said: %s", s)
		}
	})
	var end context.CancelFunc
	b.ctx, end = depth.Within(tab, t, patience)
	t.Cleanup(end)
	call(b, network.Enable, network.EnableParams{})
	call(b, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	b.Size(1280, 800)
	return b
}

func run[T any](b *Tab, a chromedp.Action[T]) T {
	b.t.Helper()
	out, err := chromedp.Run(b.ctx, a)
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

func call[P, R any](b *Tab, c cdp.Command[P, R], params P) R {
	b.t.Helper()
	return run(b, func(ctx context.Context, t *chromedp.Target) (R, error) {
		out, err := cdp.Call(ctx, t, c, params)
		if err != nil {
			err = fmt.Errorf("%s: %w", c.Method, err)
		}
		return out, err
	})
}

// hear notes all that a quiet page does not do.
func (b *Tab) hear(event any) {
	var said string
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		var parts []string
		for _, a := range e.Args {
			parts = append(parts, string(a.Value)+a.Description)
		}
		said = fmt.Sprintf("console.%s: %s", e.Type, strings.Join(parts, " "))
	case *runtime.EventExceptionThrown:
		said = "exception: " + e.ExceptionDetails.Text
		if thrown := e.ExceptionDetails.Exception; thrown != nil {
			said += " " + thrown.Description
		}
	case *log.EventEntryAdded:
		said = fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL)
	case *page.EventJavascriptDialogOpening:
		said = "dialog: " + e.Message // it holds the page, so that the test ends at its deadline at the latest
	case *network.EventRequestWillBeSent:
		b.mu.Lock()
		b.requests = append(b.requests, e.Request.URL)
		server := b.server
		b.mu.Unlock()
		if !strings.HasPrefix(e.Request.URL, "file://") && !strings.HasPrefix(e.Request.URL, "data:") && (server == "" || !strings.HasPrefix(e.Request.URL, server)) {
			said = "request: " + e.Request.URL
		}
	}
	if said != "" {
		b.mu.Lock()
		b.said = append(b.said, said)
		b.mu.Unlock()
	}
}

// Said returns and forgets what the page said, and the requests that left the file.
func (b *Tab) Said() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	said := b.said
	b.said = nil
	return said
}

// Requests returns the addresses of all requests, that of the page among them.
func (b *Tab) Requests() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string{}, b.requests...)
}

// Open writes a page to a file, and opens it there.
func (b *Tab) Open(html []byte) {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), "page.html")
	if err := os.WriteFile(path, html, 0o600); err != nil {
		b.t.Fatal(err)
	}
	run(b, chromedp.Navigate("file://"+path))
}

// Visit opens a page of a server, whose pages may also ask for others of it.
func (b *Tab) Visit(server, path string) {
	b.t.Helper()
	b.mu.Lock()
	b.server = server
	b.mu.Unlock()
	run(b, chromedp.Navigate(server+path))
}

// Size sets the window's size, at one pixel per pixel.
func (b *Tab) Size(width, height int) {
	b.t.Helper()
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: int64(width), Height: int64(height), DeviceScaleFactor: 1})
}

// Media sets the medium, "screen" or "print", or "" for what it is, and what the reader's system prefers, "light" or "dark".
func (b *Tab) Media(medium, scheme string) {
	b.t.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: medium, Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
}

// Scripts allows or forbids the scripts of the pages that are opened next.
func (b *Tab) Scripts(allowed bool) {
	b.t.Helper()
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !allowed})
}

// Eval returns the value of an expression, which it awaits. It works without the page's own scripts.
func Eval[T any](b *Tab, expression string) T {
	b.t.Helper()
	out, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, func(p *runtime.EvaluateParams) {
		await := true
		p.AwaitPromise = &await
	}))
	if err != nil {
		b.t.Fatalf("%.300s: %v", expression, err)
	}
	return out
}

// Do evaluates an expression for what it does.
func (b *Tab) Do(expression string) {
	b.t.Helper()
	Eval[chromedp.Void](b, expression)
}

// Until waits until an expression holds.
func (b *Tab) Until(expression string) {
	b.t.Helper()
	if _, err := chromedp.Run(b.ctx, chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingTimeout(0))); err != nil {
		b.t.Fatalf("waited for %.300s: %v", expression, err)
	}
}

// Arrives waits until the tab shows another page, on which an expression holds.
func (b *Tab) Arrives(expression string) {
	b.t.Helper()
	for {
		_, err := chromedp.Run(b.ctx, chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingTimeout(0)))
		if err == nil {
			return
		}
		select { // a page that is left takes what waits on it along
		case <-time.After(5 * time.Millisecond):
		case <-b.ctx.Done():
			b.t.Fatalf("waited for %.300s: %v", expression, err)
		}
	}
}

var named = map[string]string{
	"Tab": kb.Tab, "Enter": kb.Enter, "Escape": kb.Escape, "ArrowLeft": kb.ArrowLeft, "ArrowRight": kb.ArrowRight, "ArrowUp": kb.ArrowUp,
	"ArrowDown": kb.ArrowDown,
}

// Press presses keys, one after another: "a", or a name as in KeyboardEvent.key.
func (b *Tab) Press(keys ...string) {
	b.t.Helper()
	for _, k := range keys {
		if name, ok := named[k]; ok {
			k = name
		}
		run(b, chromedp.KeyEvent(k))
	}
}

// Move moves the mouse.
func (b *Tab) Move(x, y float64) {
	b.t.Helper()
	call(b, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: "mouseMoved", X: x, Y: y})
}

func (b *Tab) button(kind string, x, y float64, clicks int) {
	b.t.Helper()
	call(b, input.DispatchMouseEvent, input.DispatchMouseEventParams{
		Type: input.DispatchMouseEventType(kind), X: x, Y: y, Button: input.MouseButtonLeft, Buttons: 1, ClickCount: int64(clicks),
	})
}

// Click clicks at a place, once or twice.
func (b *Tab) Click(x, y float64, times int) {
	b.t.Helper()
	for i := 1; i <= times; i++ {
		b.button("mousePressed", x, y, i)
		b.button("mouseReleased", x, y, i)
	}
}

// Drag moves the mouse from a place to another with its button down.
func (b *Tab) Drag(x, y, toX, toY float64) {
	b.t.Helper()
	b.Move(x, y)
	b.button("mousePressed", x, y, 1)
	for _, share := range []float64{0.5, 1} {
		b.button("mouseMoved", x+share*(toX-x), y+share*(toY-y), 0)
	}
	b.button("mouseReleased", toX, toY, 1)
}

// Touch touches a place shortly.
func (b *Tab) Touch(x, y float64) {
	b.t.Helper()
	call(b, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: input.DispatchTouchEventTypeTouchStart, TouchPoints: []*input.TouchPoint{{X: x, Y: y}}})
	call(b, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: "touchEnd", TouchPoints: []*input.TouchPoint{}})
}

// Shot returns a PNG of the page from its left upper corner, drawn smaller by scale.
func (b *Tab) Shot(width, height int, scale float64) []byte {
	b.t.Helper()
	beyond := true
	return call(b, page.CaptureScreenshot, page.CaptureScreenshotParams{CaptureBeyondViewport: &beyond,
		Clip: &page.Viewport{Width: float64(width), Height: float64(height), Scale: scale}}).Data
}

// PDF returns the page as it is printed on A4.
func (b *Tab) PDF() []byte {
	b.t.Helper()
	background := true
	return call(b, page.PrintToPDF, page.PrintToPDFParams{PaperWidth: 8.27, PaperHeight: 11.69, PrintBackground: &background}).Data
}

// Node is a node of the accessibility tree, as a screen reader has it.
type Node struct {
	Role, Name string
	Focusable  bool
}

// Nodes returns the nodes of the accessibility tree that are not ignored, in order.
func (b *Tab) Nodes() []Node {
	b.t.Helper()
	var out []Node
	for _, n := range call(b, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes {
		if n.Ignored || n.Role == nil {
			continue
		}
		node := Node{Role: text(n.Role), Name: text(n.Name)}
		for _, p := range n.Properties {
			node.Focusable = node.Focusable || p.Name == "focusable" && string(p.Value.Value) == "true"
		}
		out = append(out, node)
	}
	return out
}

func text(v *accessibility.Value) string {
	var out string
	if v != nil {
		_ = json.Unmarshal([]byte(v.Value), &out) // not a text: none
	}
	return out
}
