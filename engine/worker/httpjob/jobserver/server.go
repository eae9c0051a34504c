package jobserver

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Config configures a server. The zero value's jobs succeed at once, without faults.
type Config struct {
	Seed   uint64 // for the faults
	Faults Faults

	// Behave returns what a job does. Nil: it succeeds at once with its arguments.
	Behave func(Start) Behaviour

	// ListLag is how long a new Cloud Run execution is not listed, plus a random time up to ListUneven.
	ListLag, ListUneven time.Duration

	// Tokens are valid for TokenUses requests each; other requests get 401. None: requests need no token.
	Tokens    []string
	TokenUses int // zero: no bound
}

// Faults are probabilities from 0 to 1, and times.
type Faults struct {
	Errors      float64 // 500 without an effect
	ErrorsAfter float64 // 500 after the work
	Lost        float64 // the work is done, and the connection closes without an answer
	Throttled   float64 // 429 with RetryAfter, without an effect
	RetryAfter  time.Duration
	SlowBefore  float64 // the work is done after SlowTime
	SlowAfter   float64 // the answer comes SlowTime after the work
	SlowTime    time.Duration
}

// Start is the parameters of a job.
type Start struct {
	Job  string
	Key  string
	Args json.RawMessage
	Env  map[string]string // Cloud Run's
	Argv []string          // Cloud Run's
}

// Behaviour is what a job does.
type Behaviour struct {
	After   time.Duration // from start to end
	Never   bool
	Stays   bool // cancelling does not end it, either
	Fails   bool
	Type    string
	Message string
	Result  json.RawMessage
	Answer  []byte // to a poll once it has ended, if not nil
	Silent  bool
	Floods  bool // polls get an endless answer once it has ended
}

type job struct {
	id        string
	start     Start
	does      Behaviour
	begun     time.Time
	cancelled time.Time // zero: not cancelled
}

// Server keeps jobs. It is an http.Handler, safe for concurrent use.
type Server struct {
	config Config

	mu       sync.Mutex
	jobs     []*job
	byID     map[string]*job // ids include the dialect
	byKey    map[string]*job // plain dialect only
	starts   map[string]int
	cancels  map[string]int
	told     map[string]bool // of jobs whose end was reported
	uses     map[string]int  // by token
	requests map[string]int  // by subject
	total    int
}

// New makes a server.
func New(c Config) *Server {
	return &Server{
		config: c, byID: map[string]*job{}, byKey: map[string]*job{}, starts: map[string]int{}, cancels: map[string]int{}, told: map[string]bool{},
		uses: map[string]int{}, requests: map[string]int{},
	}
}

// Starts counts the starts of jobs by key.
func (s *Server) Starts() map[string]int { return s.counts(s.starts) }

// Cancels counts cancellations of running jobs by key.
func (s *Server) Cancels() map[string]int { return s.counts(s.cancels) }

func (s *Server) counts(of map[string]int) map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := map[string]int{}
	for key, n := range of {
		c[key] = n
	}
	return c
}

// Requests is the number of requests.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// Progress returns the number of started jobs and of reported ends. Neither falls.
func (s *Server) Progress() (started, told int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.starts), len(s.told)
}

// tell notes that a job's state is reported. It needs the lock.
func (s *Server) tell(j *job) {
	if j.state(time.Now()) != "running" {
		s.told[j.start.Key] = true
	}
}

// Active is the number of jobs that have not ended.
func (s *Server) Active() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, j := range s.jobs {
		if j.state(time.Now()) == "running" {
			n++
		}
	}
	return n
}

func (j *job) state(now time.Time) string {
	ends := j.begun.Add(j.does.After)
	switch {
	case !j.cancelled.IsZero() && (j.does.Never || j.cancelled.Before(ends)):
		return "cancelled"
	case j.does.Never || now.Before(ends):
		return "running"
	case j.does.Fails:
		return "failed"
	}
	return "succeeded"
}

// begin needs the lock.
func (s *Server) begin(id string, st Start) *job {
	j := &job{id: id, start: st, begun: time.Now(), does: Behaviour{Result: st.Args}}
	if s.config.Behave != nil {
		j.does = s.config.Behave(st)
	}
	s.jobs = append(s.jobs, j)
	s.byID[id] = j
	s.starts[st.Key]++
	return j
}

// stop needs the lock.
func (s *Server) stop(j *job) {
	now := time.Now()
	if j.state(now) == "running" && !j.does.Stays {
		j.cancelled = now
		s.cancels[j.start.Key]++
	}
}

type reply struct {
	status int
	body   any
	silent bool // no answer
	floods bool // an endless body
}

func wrong(status int, format string, args ...any) reply {
	text := fmt.Sprintf(format, args...)
	return reply{status: status, body: map[string]any{"error": map[string]any{"code": status, "message": text}}}
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := readAll(r)
	if !s.takes(r) {
		write(w, wrong(http.StatusUnauthorized, "the token is not valid: %s", r.Header.Get("Authorization")))
		return
	}
	f, draw := s.config.Faults, s.draw(r, body)
	if draw.Float64() < f.Throttled {
		w.Header().Set("Retry-After", fmt.Sprint(int(f.RetryAfter.Seconds())))
		write(w, wrong(http.StatusTooManyRequests, "too many requests"))
		return
	}
	if draw.Float64() < f.Errors {
		write(w, wrong(http.StatusInternalServerError, "nothing was done"))
		return
	}
	if draw.Float64() < f.SlowBefore {
		wait(r, f.SlowTime, false) // the work is done even if the client has disconnected
	}
	s.mu.Lock()
	answer := s.route(r, body)
	s.mu.Unlock()
	if draw.Float64() < f.ErrorsAfter {
		answer = wrong(http.StatusInternalServerError, "the work was done")
	}
	if draw.Float64() < f.SlowAfter {
		wait(r, f.SlowTime, true)
	}
	if draw.Float64() < f.Lost {
		panic(http.ErrAbortHandler) // closes the connection
	}
	switch {
	case answer.silent:
		<-r.Context().Done()
	case answer.floods:
		flood(w)
	default:
		write(w, answer)
	}
}

func wait(r *http.Request, d time.Duration, withClient bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	removed := r.Context().Done()
	if !withClient {
		removed = nil
	}
	select {
	case <-timer.C:
	case <-removed:
	}
}

func flood(w http.ResponseWriter) {
	w.WriteHeader(http.StatusOK)
	text := []byte("{\"id\": \"" + strings.Repeat("x", 1<<16))
	for {
		if _, err := w.Write(text); err != nil {
			return
		}
	}
}

func (s *Server) takes(r *http.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total++
	if len(s.config.Tokens) == 0 {
		return true
	}
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	for _, t := range s.config.Tokens {
		if t == token {
			s.uses[t]++
			return s.config.TokenUses == 0 || s.uses[t] <= s.config.TokenUses
		}
	}
	return false
}

// draw depends on the seed, the request's subject, and its number among the requests about that.
func (s *Server) draw(r *http.Request, body []byte) *rand.Rand {
	about := r.Method + " " + r.URL.RequestURI() + " " + r.Header.Get("Idempotency-Key") + " " + keyIn(body)
	s.mu.Lock()
	s.requests[about]++
	n := s.requests[about]
	s.mu.Unlock()
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", about, n)
	return rand.New(rand.NewPCG(s.config.Seed, h.Sum64()))
}

// route needs the lock.
func (s *Server) route(r *http.Request, body []byte) reply {
	if path, ok := strings.CutPrefix(r.URL.EscapedPath(), "/v2/"); ok {
		return s.cloudRun(r, path, body)
	}
	if path, ok := strings.CutPrefix(r.URL.EscapedPath(), "/results/"); ok {
		return s.left(path)
	}
	return s.plain(r, body)
}
