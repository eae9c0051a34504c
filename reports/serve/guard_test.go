package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pulley/reports/record"
)

func contextEnded(q *http.Request) (context.Context, context.CancelFunc) {
	return context.WithCancel(q.Context())
}

func header(name, value string) func(*http.Request) {
	return func(q *http.Request) { q.Header.Set(name, value) }
}

func host(name string) func(*http.Request) { return func(q *http.Request) { q.Host = name } }

func TestMethodsAreChecked(t *testing.T) {
	s := newServer(t)
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW"} {
		got := s.get("/", func(q *http.Request) { q.Method = method })
		if got.Code != 405 || got.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: status %d", method, got.Code)
		}
	}
}

func TestEveryAnswerHasTheHeaders(t *testing.T) {
	s := newServer(t)
	s.write("r/load.json", "answer")
	for _, got := range []http.Header{
		s.get("/").Header(), s.get("/run/r").Header(), s.get("/none").Header(), s.get("/", host("evil.example")).Header(), s.get("/run/../..").Header(),
	} {
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY", "Cache-Control": "no-store",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got.Get(name) != want {
				t.Errorf("%s is %q, want %q", name, got.Get(name), want)
			}
		}
		if policy := got.Get("Content-Security-Policy"); !strings.Contains(policy, "frame-ancestors 'none'") || !strings.Contains(policy, "default-src 'none'") {
			t.Errorf("the policy is %q", policy)
		}
		if got.Get("Access-Control-Allow-Origin") != "" {
			t.Error("other origins are admitted")
		}
	}
}

func TestHostIsChecked(t *testing.T) {
	s := newServer(t, func(c *Config) { c.Names = []string{"Runs.example"} })
	for name, status := range map[string]int{
		"127.0.0.1:8090": 200, "localhost:8090": 200, "LOCALHOST": 200, "[::1]:8090": 200, "localhost:9999": 200, "localhost.": 200, "runs.example": 200,
		"evil.example": 421, "evil.example:8090": 421, "127.0.0.1.evil.example": 421, "localhost.evil.example": 421, "": 421, "127.0.0.2": 421, "[::1": 200, "::": 421, "a b": 421, "user@localhost": 421,
	} {
		if got := s.get("/", host(name)); got.Code != status {
			t.Errorf("Host %q: status %d, want %d", name, got.Code, status)
		}
	}
}

func TestOriginIsChecked(t *testing.T) {
	s := newServer(t)
	for origin, status := range map[string]int{
		"http://127.0.0.1:8090": 200, "https://127.0.0.1:8090": 200, "http://evil.example": 403, "null": 403, "http://127.0.0.1:8091": 403, "http://localhost:8090": 403,
		"file://127.0.0.1:8090": 403, "://": 403,
	} {
		if got := s.get("/", header("Origin", origin)); got.Code != status {
			t.Errorf("Origin %q: status %d, want %d", origin, got.Code, status)
		}
	}
	for site, status := range map[string]int{"none": 200, "same-origin": 200, "same-site": 403, "cross-site": 403, "else": 403} {
		if got := s.get("/", header("Sec-Fetch-Site", site)); got.Code != status {
			t.Errorf("Sec-Fetch-Site %q: status %d, want %d", site, got.Code, status)
		}
	}
	follows := []func(*http.Request){header("Sec-Fetch-Site", "cross-site"), header("Sec-Fetch-Mode", "navigate"), header("Sec-Fetch-Dest", "document")}
	if got := s.get("/", follows...); got.Code != 200 {
		t.Errorf("a link that is followed: status %d", got.Code)
	}
	if got := s.get("/", append(follows, header("Sec-Fetch-Dest", "iframe"))...); got.Code != 403 {
		t.Errorf("a frame: status %d", got.Code)
	}
}

const testToken = "a-token-of-24-characters"

func withToken(c *Config) { c.Token = testToken }

func TestTokenIsDemanded(t *testing.T) {
	s := newServer(t, withToken)
	s.write("r/load.json", "answer")
	for _, target := range []string{"/", "/run/r", "/events/r", "/live/r", "/beside", "/none", "/?token=", "/?token=wrong", "/?token=" + testToken + "x", "/?page=1"} {
		if got := s.get(target); got.Code != 401 || got.Header().Get("Set-Cookie") != "" {
			t.Errorf("%s: status %d, cookie %q", target, got.Code, got.Header().Get("Set-Cookie"))
		}
	}
	got := s.get("/run/r?token=" + testToken + "&x=1")
	cookies := got.Result().Cookies()
	if got.Code != 303 || got.Header().Get("Location") != "/run/r?x=1" || len(cookies) != 1 {
		t.Fatalf("status %d, Location %q, cookies %v", got.Code, got.Header().Get("Location"), cookies)
	}
	c := cookies[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Name != "pulley_8090" || strings.Contains(c.Value, testToken) {
		t.Errorf("the cookie is %v", c)
	}
	if got := s.get("/run/r", func(q *http.Request) { q.AddCookie(c) }); got.Code != 200 {
		t.Errorf("with the cookie: status %d", got.Code)
	}
	for _, value := range []string{"", "wrong", testToken, c.Value[1:], c.Value + "0"} {
		if got := s.get("/", func(q *http.Request) { q.AddCookie(&http.Cookie{Name: c.Name, Value: value}) }); got.Code != 401 {
			t.Errorf("with the cookie %q: status %d", value, got.Code)
		}
	}
	if got := s.get("/", func(q *http.Request) { q.AddCookie(c) }, host("evil.example")); got.Code != 421 {
		t.Errorf("with the cookie for another host: status %d", got.Code)
	}
}

func TestTokenLeadsToNoOtherServer(t *testing.T) {
	s := newServer(t, withToken)
	for _, path := range []string{"//evil.example", "//evil.example/x", "/\\evil.example", "https://evil.example"} {
		got := s.get("/", func(q *http.Request) { q.URL.Path, q.URL.RawQuery = path, "token="+testToken })
		if to := got.Header().Get("Location"); !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.HasPrefix(to, "/\\") {
			t.Errorf("%s leads to %q", path, to)
		}
	}
}

func TestTokensThatCanBeGuessedAreRejected(t *testing.T) {
	for _, token := range []string{"", "short", strings.Repeat("x", 15), strings.Repeat("x", 513), "with spaces in the text", "with\ncontrol characters", "mit Umläuten, und lang"} {
		if err := CheckToken(token); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", token, err)
		}
	}
	a, b := NewToken(), NewToken()
	if CheckToken(a) != nil || a == b {
		t.Errorf("new tokens: %q and %q", a, b)
	}
	for _, address := range []string{"0.0.0.0:80", ":80", "192.0.2.1:80", "example.org:80", "[::]:80", "no address"} {
		if _, err := New(Config{Dir: t.TempDir(), Address: address}); err == nil {
			t.Errorf("%s is served without a token", address)
		}
	}
	for _, address := range []string{"127.0.0.1:0", "[::1]:0", "localhost:0", "127.8.8.8:1", "[::ffff:127.0.0.1]:1"} {
		if !IsLoopback(address) {
			t.Errorf("%s is no loopback address", address)
		}
	}
}

func TestLogHasNoToken(t *testing.T) {
	var lines []string
	s := newServer(t, withToken, func(c *Config) { c.Log = func(line string) { lines = append(lines, line) } })
	s.get("/?token=" + testToken)
	s.get("/run/\x1b[2J\n?token=" + testToken)
	if len(lines) != 2 || !strings.Contains(lines[0], "GET /: 303") {
		t.Fatalf("the log is %q", lines)
	}
	for _, line := range lines {
		if strings.Contains(line, testToken) || strings.ContainsAny(line, "\x1b\n") {
			t.Errorf("the log has %q", line)
		}
	}
}

func TestNothingOutsideOfTheDirectoryIsRead(t *testing.T) {
	s := newServer(t)
	s.write("r/load.json", "inside")
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, record.LoadFile), []byte("outside"), 0o666); err != nil {
		t.Fatal(err)
	}
	up, err := filepath.Rel(s.dir, outside)
	if err != nil {
		t.Fatal(err)
	}
	link := func(to, name string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(s.dir, name)), 0o777), os.Symlink(to, filepath.Join(s.dir, name))); err != nil {
			t.Fatal(err)
		}
	}
	link(outside, "folder")
	link(filepath.Join(s.dir, "r"), "inner")
	link(filepath.Join(outside, record.LoadFile), "file/load.json")
	link(filepath.Join(s.dir, "r", record.LoadFile), "within/load.json")
	link("/dev/zero", "device/load.json")
	link("/etc/hostname", "progress/progress.json")
	if err := errors.Join(os.Mkdir(filepath.Join(s.dir, "pipe"), 0o777), syscall.Mkfifo(filepath.Join(s.dir, "pipe", record.LoadFile), 0o666), syscall.Mkfifo(filepath.Join(s.dir, "pipe", record.ProgressFile), 0o666)); err != nil {
		t.Fatal(err)
	}
	body := s.want("/", 200, "inside", "links are not followed")
	if strings.Contains(body, "outside") || strings.Contains(body, `"/run/folder"`) || strings.Contains(body, `"/run/inner"`) {
		t.Error("a link is followed")
	}
	for _, path := range []string{"folder", "inner", "progress", up, "../" + filepath.Base(outside), "r/..", "r/../r", "/etc", "./r", "r/", "//r", "r//", "r\\..", "r\x00", "C:", strings.Repeat("a/", 100) + "a"} {
		for _, prefix := range []string{"/run/", "/live/", "/events/"} {
			got := s.get("/", func(q *http.Request) { q.URL.Path = prefix + path })
			if got.Code == 200 || strings.Contains(got.Body.String(), "outside") {
				t.Errorf("%s%s: status %d: %.100s", prefix, path, got.Code, got.Body)
			}
			if to := got.Header().Get("Location"); to != "" && !strings.HasPrefix(to, "/") {
				t.Errorf("%s%s leads to %q", prefix, path, to)
			}
		}
	}
	for _, name := range []string{"file", "within", "device", "pipe"} {
		s.want("/run/"+name, 422, "no plain file")
	}
}

// As a client sends them, paths are not cleaned before.
func TestRawPathsLeadNowhere(t *testing.T) {
	s := newServer(t)
	s.write("r/load.json", "inside")
	address := serving(t, s)
	for _, target := range []string{"/run/../../../../etc/passwd", "/run/%2e%2e/%2e%2e/etc", "/run/..%2f..%2fetc", "/run/r%00", "/run/%5c..%5c", "/run//etc/passwd", "/run/r/%2e%2e/%2e%2e"} {
		conn := dial(t, address)
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", target)
		got, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got.StatusCode == 200 {
			t.Errorf("%s: status %d", target, got.StatusCode)
		}
		_ = conn.Close()
	}
}

// serving serves until the test ends.
func serving(t *testing.T, s *testServer) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute)) // a test that fails ends
	return conn
}

// wantClosed waits until the server has closed a connection.
func wantClosed(t *testing.T, conn net.Conn) {
	t.Helper()
	if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the server keeps the connection")
	}
}

func TestSlowClientsAreCutOff(t *testing.T) {
	s := newServer(t)
	s.times = timeouts{header: 50 * time.Millisecond, read: 50 * time.Millisecond, write: 50 * time.Millisecond, idle: 50 * time.Millisecond}
	address := serving(t, s)
	for what, text := range map[string]string{
		"says nothing":         "",
		"begins a request":     "GET / HTTP/1.1\r\nHost: local",
		"keeps its connection": "GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"sends no body":        "GET /none HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n",
	} {
		t.Run(what, func(t *testing.T) {
			conn := dial(t, address)
			_, _ = io.WriteString(conn, text)
			wantClosed(t, conn)
		})
	}
}

// A client that does not read what it asked for holds its connection until the timeout, and no longer.
func TestClientsThatDoNotReadAreCutOff(t *testing.T) {
	s := newServer(t)
	s.times.write = 100 * time.Millisecond
	s.write("r/load.json", "answer")
	s.pages.put(s.tree.lookup("r").key(), make([]byte, 64<<20), 1) // more than both ends buffer
	ended := make(chan string, 10)
	s.cfg.Log = func(line string) { ended <- line }
	conn := dial(t, serving(t, s))
	_ = conn.(*net.TCPConn).SetReadBuffer(4096)
	_, _ = io.WriteString(conn, "GET /run/r HTTP/1.1\r\nHost: localhost\r\n\r\n")
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the server still waits for the client")
	}
}

func TestLargeHeadersAreRefused(t *testing.T) {
	conn := dial(t, serving(t, newServer(t)))
	go func() {
		_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: localhost\r\nX: "+strings.Repeat("x", 1<<20)+"\r\n\r\n")
	}()
	got, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || got.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("%v, %v", got, err)
	}
}

// With all connections taken, the next one waits until one of them ends, and is answered then.
func TestConnectionsAreBounded(t *testing.T) {
	s := newServer(t)
	s.connections = 2
	s.times.header = 200 * time.Millisecond
	address := serving(t, s)
	first, second := dial(t, address), dial(t, address) // they say nothing, and are cut off
	third := dial(t, address)
	_, _ = io.WriteString(third, "GET /none HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	got, err := http.ReadResponse(bufio.NewReader(third), nil)
	if err != nil || got.StatusCode != 404 {
		t.Errorf("%v, %v", got, err)
	}
	wantClosed(t, first)
	wantClosed(t, second)
}

func TestLimitBoundsWhatIsAccepted(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := limit(inner, 1)
	dial(t, inner.Addr().String())
	dial(t, inner.Addr().String())
	first, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan net.Conn)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- conn
		}
	}()
	select {
	case <-accepted:
		t.Error("a second connection is accepted while the first is open")
	default:
	}
	_ = first.Close()
	_ = first.Close() // frees one slot, not two
	second := <-accepted
	_ = l.Close()
	if _, open := <-accepted; open {
		t.Error("a closed listener accepts")
	}
	_ = second.Close()
}

func TestServeLeavesNothing(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s, err := New(Config{Dir: t.TempDir(), Address: testAddress})
	if err != nil {
		t.Fatal(err)
	}
	if err := record.WriteProgress(s.cfg.Dir, &record.Progress{Kind: "sim", State: record.StateRunning, At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	fmt.Fprint(conn, "GET /events/ HTTP/1.1\r\nHost: localhost\r\n\r\n")
	got, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || got.StatusCode != 200 {
		t.Fatalf("%v, %v", got, err)
	}
	cancel() // while a stream is open
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := io.Copy(io.Discard, got.Body); err != nil {
		t.Errorf("the stream does not end by itself: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
