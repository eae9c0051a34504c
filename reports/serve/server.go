package serve

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"pulley/internal/cause"
	"pulley/internal/live"
	"pulley/reports"
	"pulley/reports/page"
)

// Config is what is served, and to whom.
type Config struct {
	// Dir is the directory with the runs. It is not used with Instances.
	Dir string
	// Instances are shown in place of runs. Nil: none.
	Instances Instances
	// Address is HOST:PORT, as the server listens.
	Address string
	// Token must be known to who connects. It may be empty on a loopback address only.
	Token string
	// Names are further names of the server, such as that of a proxy.
	Names []string
	// Beside lays out two runs in comparison. Nil: no two are compared.
	Beside func(candidate, baseline string) (*page.Page, error)
	// Log receives a line for each request. It may be called concurrently. Nil: none.
	Log func(line string)
}

// The bounds of a server.
const (
	connectionsMost = 128
	streamsMost     = 32
	rendersMost     = 2
	headerMost      = 16 << 10
	pagesMost       = 64 << 20 // bytes of pages that are kept
	headsMost       = 4096     // runs of which the answer is kept
	// renderWait is how long a request waits for its turn.
	renderWait = 20 * time.Second
	// stopMost is how long answers under way may take when the server ends.
	stopMost = 5 * time.Second
)

// timeouts are of a connection. A stream has its own for each message.
type timeouts struct {
	header, read, write, idle time.Duration
	// poll is how often a run that is followed is read, message how long one may take to send, stream how long a stream lasts; the
	// browser then begins another.
	poll, message, stream time.Duration
}

var usual = timeouts{header: 5 * time.Second, read: 10 * time.Second, write: time.Minute, idle: time.Minute, poll: time.Second, message: 10 * time.Second, stream: 10 * time.Minute}

// Server serves a directory. It is used once.
type Server struct {
	cfg                       Config
	tree                      tree
	open                      func(dir string) (*page.Page, error)
	names                     []string
	token, cookie, cookieName string
	times                     timeouts
	connections               int

	renders, streams chan struct{}
	pages            *cache[[]byte]
	heads            *cache[head]

	scanning sync.Mutex
	scanned  *findings
	scanAt   time.Time

	stopping context.Context // ends streams
	stop     context.CancelFunc
}

// New checks a configuration, and opens the directory.
func New(cfg Config) (*Server, error) {
	_, port, err := net.SplitHostPort(cfg.Address)
	if err != nil {
		return nil, fmt.Errorf("%s: write HOST:PORT, as in 127.0.0.1:8090", cfg.Address)
	}
	if cfg.Token == "" && !IsLoopback(cfg.Address) {
		return nil, errors.New("an address that others can reach needs a token")
	}
	names, err := namesOf(cfg.Address)
	if err != nil {
		return nil, fmt.Errorf("finding this machine's addresses: %w", err)
	}
	root, err := cfg.openRoot()
	if err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, tree: tree{root: root, now: time.Now, most: usualBounds}, open: reports.Open, token: cfg.Token, cookie: cookieOf(cfg.Token), cookieName: "pulley_" + port, names: names,
		times: usual, connections: connectionsMost, renders: make(chan struct{}, rendersMost), streams: make(chan struct{}, streamsMost),
		pages: newCache[[]byte](pagesMost), heads: newCache[head](headsMost),
	}
	for _, name := range cfg.Names {
		if name == "" || strings.ContainsAny(name, "/: \t") {
			return nil, errors.Join(fmt.Errorf("the name %q: write it without a scheme or a port", name), s.tree.close())
		}
		s.names = append(s.names, strings.ToLower(name))
	}
	s.stopping, s.stop = context.WithCancel(context.Background())
	return s, nil
}

// openRoot opens the directory. With instances there is none.
func (cfg Config) openRoot() (*os.Root, error) {
	if cfg.Instances != nil {
		return nil, nil
	}
	if info, err := os.Stat(cfg.Dir); err != nil {
		return nil, fmt.Errorf("%s: %w; name a directory with what commands wrote to --out", cfg.Dir, cause.Of(err))
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s is no directory; name one with what commands wrote to --out", cfg.Dir)
	}
	root, err := os.OpenRoot(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.Dir, cause.Of(err))
	}
	return root, nil
}

// Close ends streams, and closes the directory.
func (s *Server) Close() error {
	s.stop()
	return s.tree.close()
}

// Handler answers requests.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	if s.cfg.Instances != nil {
		mux.HandleFunc("GET /{$}", s.instances)
		mux.HandleFunc("GET /instance/{id}", s.instance)
	} else {
		mux.HandleFunc("GET /{$}", s.list)
		mux.HandleFunc("GET /run/{path...}", s.report)
		mux.HandleFunc("GET /live/{path...}", s.live)
		mux.HandleFunc("GET /events/{path...}", s.events)
		mux.HandleFunc("GET /beside", s.beside)
	}
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusNotFound, "there is no such page") })
	return s.logged(s.guard(mux))
}

// logged writes a line for each request, without its query: that may hold the token.
func (s *Server) logged(next http.Handler) http.Handler {
	if s.cfg.Log == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, out := s.tree.now(), &counted{ResponseWriter: w, status: http.StatusOK}
		defer func() {
			s.cfg.Log(live.Clip(live.Clean(fmt.Sprintf("%s %s %s: %d, %d bytes, %s", r.RemoteAddr, r.Method, r.URL.EscapedPath(), out.status, out.bytes, s.tree.now().Sub(began).Round(time.Millisecond))), 300))
		}()
		next.ServeHTTP(out, r)
	})
}

type counted struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// WriteHeader notes the status.
func (c *counted) WriteHeader(status int) {
	c.status = status
	c.ResponseWriter.WriteHeader(status)
}

// Write counts.
func (c *counted) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.bytes += int64(n)
	return n, err
}

// Unwrap lets a stream flush, and set its deadlines.
func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Serve answers requests until ctx ends, and a little longer those under way. Then nothing of it is left.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: s.times.header, ReadTimeout: s.times.read, WriteTimeout: s.times.write, IdleTimeout: s.times.idle,
		MaxHeaderBytes: headerMost, ErrorLog: log.New(errorLog{s}, "", 0),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(limit(l, s.connections)) }()
	select {
	case err := <-failed:
		s.stop()
		return errors.Join(err, server.Close())
	case <-ctx.Done():
	}
	s.stop()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopMost)
	defer cancel()
	err := server.Shutdown(ending)
	if err != nil {
		err = server.Close()
	}
	<-failed
	return err
}

// errorLog takes the lines of package http, which may quote what a client sent.
type errorLog struct{ s *Server }

// Write logs a line.
func (e errorLog) Write(p []byte) (int, error) {
	if e.s.cfg.Log != nil {
		e.s.cfg.Log(live.Clip(live.Clean(string(p)), 300))
	}
	return len(p), nil
}
