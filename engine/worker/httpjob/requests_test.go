package httpjob

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"pulley/engine/graph"
	"pulley/engine/worker"
	"pulley/engine/worker/httpjob/jobserver"
	"pulley/internal/depth"
	"pulley/internal/pause"
)

// ask runs an attempt of a plain job against scripted answers, in virtual time, and returns its end, its duration and the
// requests.
func ask(t *testing.T, change func(*Config), answers ...func(http.ResponseWriter, *http.Request)) (end string, took time.Duration, seen []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		script := &scripted{answers: answers}
		against(t, Plain, script, change, func(b *bench) {
			begun := time.Now()
			end = ended(b.action(Job{})(b.Context(), newCall(`{"a": 1}`)))
			took = time.Since(begun)
		})
		seen = script.seen
	})
	return end, took, seen
}

const (
	running = `{"id": "x", "state": "running"}`
	done    = `{"id": "x", "state": "succeeded", "result": 1}`
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers     []func(http.ResponseWriter, *http.Request)
		least, most time.Duration
	}{
		"of a start": {[]func(http.ResponseWriter, *http.Request){says(429, "", "Retry-After", "20"), says(200, done)}, 20 * second, 20*second + 200*time.Millisecond},
		"of a look":  {[]func(http.ResponseWriter, *http.Request){says(201, running, "Retry-After", "50"), says(200, running), says(200, done)}, 51 * second, 53 * second},
		"as a date":  {[]func(http.ResponseWriter, *http.Request){says(503, "", "Retry-After", "Sat, 01 Jan 2000 00:01:00 GMT"), says(200, done)}, 60 * second, 60*second + 200*time.Millisecond}, // the bubble begins at midnight
		"as a date of a clock that is ahead": {[]func(http.ResponseWriter, *http.Request){
			says(503, "", "Retry-After", "Sat, 01 Jan 2000 01:01:00 GMT", "Date", "Sat, 01 Jan 2000 01:00:00 GMT"), says(200, done),
		}, 60 * second, 60*second + 200*time.Millisecond},
		"longer than patience lasts": {[]func(http.ResponseWriter, *http.Request){says(500, ""), says(503, "", "Retry-After", "300"), says(200, done)}, 5 * time.Minute, 5 * time.Minute},
		"too long":                   {[]func(http.ResponseWriter, *http.Request){says(201, running, "Retry-After", "86400"), says(200, done)}, 5 * time.Minute, 5*time.Minute + second/2},
		"without number":             {[]func(http.ResponseWriter, *http.Request){says(429, "", "Retry-After", "soon"), says(200, done)}, 0, 200 * time.Millisecond},
		"of the past":                {[]func(http.ResponseWriter, *http.Request){says(429, "", "Retry-After", "-5"), says(200, done)}, 0, 200 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			end, took, _ := ask(t, nil, c.answers...)
			if end != "1" || took < c.least || took > c.most {
				t.Errorf("it ends with %s after %v; want 1 after %v to %v", end, took, c.least, c.most)
			}
		})
	}
}

func TestPatienceEnds(t *testing.T) {
	t.Parallel()
	end, took, seen := ask(t, nil, says(500, "out of order"))
	if !strings.HasPrefix(end, "Unavailable: no answer for 5m0s, and the last time: POST http://jobs.test/jobs: 500 Internal Server Error: out of order") {
		t.Errorf("it ends with %s", end)
	}
	if took > 5*time.Minute || took < 4*time.Minute || len(seen) < 15 || len(seen) > 100 {
		t.Errorf("it ends after %v and %d requests", took, len(seen))
	}
	end, took, _ = ask(t, func(c *Config) { c.URL = "http://nowhere.test/jobs"; c.Transport = roundTripper(refuse) }, says(200, done))
	if !strings.HasPrefix(end, "Unavailable: ") || !strings.Contains(end, "nobody listens") || took > 5*time.Minute {
		t.Errorf("without a server, it ends with %s after %v", end, took)
	}
}

func refuse(*http.Request) (*http.Response, error) { return nil, errors.New("nobody listens") }

func TestRefusals(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("because\n", 1000)
	for _, c := range []struct {
		name, want string
		change     func(*Config)
		answer     func(http.ResponseWriter, *http.Request)
	}{
		{"forbidden", "HTTPError: POST http://jobs.test/jobs: 403 Forbidden: because because ", nil, says(403, long)},
		{"no such thing", "HTTPError: POST http://jobs.test/jobs: 404 Not Found", nil, says(404, "")},
		{"redirect", "HTTPError: POST http://jobs.test/jobs: 302 Found: it sends elsewhere, which is not followed", nil, says(302, "", "Location", "http://other.test/")},
		{"no JSON", "ResultError: POST http://jobs.test/jobs: the answer is not as the API says: it is no JSON of a job: ", nil, says(200, "<html>")},
		{"no id", "ResultError: POST http://jobs.test/jobs: the answer is not as the API says: the job's id is empty", nil, says(200, `{"state": "running"}`)},
		{"a path as id", "ResultError: POST http://jobs.test/jobs: the answer is not as the API says: the job's id is empty, a path", nil, says(200, `{"id": "..", "state": "running"}`)},
		{"no state", `ResultError: POST http://jobs.test/jobs: the answer is not as the API says: the state "done" is none of `, nil, says(200, `{"id": "1", "state": "done"}`)},
		{"too long", "LimitExceeded: POST http://jobs.test/jobs: the answer is longer than the limit of 2000 bytes", func(c *Config) { c.BodyBytes = 2000 }, says(200, long)},
		{"no token", "TokenError: no token for POST http://jobs.test/jobs: none left", func(c *Config) { c.Token = source(func() (Token, error) { return Token{}, errors.New("none left") }) }, says(200, done)},
		{"token in two lines", "TokenError: no token for POST http://jobs.test/jobs: the source gives what cannot be a token", func(c *Config) { c.Token = StaticToken("a\nb") }, says(200, done)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			end, _, seen := ask(t, c.change, c.answer)
			if !strings.HasPrefix(end, c.want) || len(end) > 500 {
				t.Errorf("it ends with %s\nwant %s", end, c.want)
			}
			starts := 0
			for _, r := range seen {
				if strings.HasPrefix(r, "POST /jobs ") {
					starts++
				}
			}
			if starts > 1 {
				t.Errorf("the requests were %q: what is refused is not repeated", seen)
			}
		})
	}
}

type source func() (Token, error)

func (s source) Token(context.Context) (Token, error) { return s() }

// The server accepts each token a few times. A refused token must be replaced, and no error may contain one.
func TestTokens(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprintf("secret-%d", i))
	}
	dialects(t, jobserver.Config{Tokens: names, TokenUses: 7, Behave: func(s jobserver.Start) jobserver.Behaviour {
		return jobserver.Behaviour{After: 9 * second, Result: s.Args}
	}}, func(c *Config) {
		var mu sync.Mutex
		given := 0
		c.Token = source(func() (Token, error) {
			mu.Lock()
			defer mu.Unlock()
			given++
			return Token{Value: fmt.Sprintf("secret-%d", given)}, nil
		})
	}, func(b *bench) {
		f := b.action(Job{})
		for range 10 {
			b.wants(newCall(`{"a":1}`), f, `{"a":1}`)
		}
		b.startedOnce(10)
	})
	dialects(t, jobserver.Config{Tokens: []string{"another"}}, func(c *Config) { c.Token = StaticToken("my-secret") }, func(b *bench) {
		end := ended(b.action(Job{})(b.Context(), newCall(`{}`)))
		if !strings.HasPrefix(end, "HTTPError: ") || !strings.Contains(end, "401 Unauthorized") || !strings.Contains(end, "[token]") || !strings.Contains(end, "takes none of the tokens that the source gives") || strings.Contains(end, "my-secret") {
			b.Errorf("it ends with %s", end)
		}
		if n := b.server.Requests(); n != 2 {
			b.Errorf("there were %d requests, want 2", n)
		}
	})
	virtual(t, Plain, jobserver.Config{Tokens: []string{"another"}}, nil, func(b *bench) {
		b.wants(newCall(`{}`), b.action(Job{}), "HTTPError: POST http://jobs.test/jobs: 401 Unauthorized (no token was sent: name what gives tokens)")
	})
}

// A source must only be asked when a token expires. A valid token must be kept while the source fails.
func TestTokensAreKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked, broken := 0, false
		k := newTokens(source(func() (Token, error) {
			if asked++; broken {
				return Token{}, errors.New("out of order")
			}
			return Token{Value: fmt.Sprint("t", asked), Expires: time.Now().Add(time.Hour)}, nil
		}))
		want := func(refused, token string, times int) {
			t.Helper()
			if got, err := k.get(t.Context(), refused); got != token || asked != times {
				t.Errorf("the token is %s, %v, after %d questions; want %s after %d", got, err, asked, token, times)
			}
		}
		want("", "t1", 1)
		time.Sleep(58 * time.Minute)
		want("", "t1", 1)
		time.Sleep(90 * second)
		want("", "t2", 2)
		want("t2", "t3", 3)
		want("t2", "t3", 3) // another caller whose t2 was refused receives the current one
		broken = true
		time.Sleep(59*time.Minute + 30*second)
		want("", "t3", 4)
		want("", "t3", 4) // the source is not asked for some seconds
		time.Sleep(11 * second)
		want("", "t3", 5)
		time.Sleep(time.Minute)
		want("", "", 6)
	})
}

func TestTokenSources(t *testing.T) {
	t.Parallel()
	depth.Needs(t, "other processes")
	script := &scripted{}
	server := newTCP(t, script)
	for _, c := range []struct {
		source TokenSource
		answer func(http.ResponseWriter, *http.Request)
		want   string
		lives  time.Duration
	}{
		{CommandToken{"sh", "-c", "echo ' abc '"}, nil, "abc", 0},
		{CommandToken{"sh", "-c", `echo '{"access_token": "abc", "expires_in": 600}'`}, nil, "abc", 10 * time.Minute},
		{CommandToken{"sh", "-c", "echo secret; echo 'no luck' >&2; exit 3"}, nil, "error: the command sh: exit status 3: no luck", 0},
		{CommandToken{"sh", "-c", "echo secret one"}, nil, "error: the command sh gives what cannot be a token: it has blanks, line feeds or other characters that a header does not take", 0},
		{CommandToken{"true"}, nil, "error: the command true gives no token: it writes one by itself, or JSON with access_token and expires_in", 0},
		{CommandToken{}, nil, "error: the command that gives tokens is empty; name a program", 0},
		{MetadataToken(server), says(200, `{"access_token": "m", "expires_in": 3599, "token_type": "Bearer"}`), "m", 3599 * second},
		{MetadataToken(server), says(403, "secret"), "error: the metadata server at HOST answers 403 Forbidden", 0},
		{MetadataToken(server), says(200, `{"access_token": ""}`), "error: the metadata server at HOST gives an empty token", 0},
	} {
		script.answers = []func(http.ResponseWriter, *http.Request){func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Metadata-Flavor") != "Google" {
				t.Error("the request has no Metadata-Flavor")
			}
			c.answer(w, r)
		}}
		begun := time.Now()
		token, err := c.source.Token(t.Context())
		got := token.Value
		if err != nil {
			got = strings.ReplaceAll("error: "+err.Error(), strings.TrimPrefix(server, "http://"), "HOST")
		}
		if got != c.want {
			t.Errorf("%v gives %s, want %s", c.source, got, c.want)
		}
		if lives := token.Expires.Sub(begun); token.Expires.IsZero() != (c.lives == 0) || c.lives > 0 && (lives < c.lives || lives > c.lives+time.Minute) {
			t.Errorf("%v gives a token that lives for %v, want %v", c.source, lives, c.lives)
		}
	}
}

// A command that hangs is killed, with its children.
func TestTokenCommandsEnd(t *testing.T) {
	t.Parallel()
	depth.Needs(t, "other processes")
	file := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := CommandToken{"sh", "-c", `sleep 600 & echo $! > "$0.new" && mv "$0.new" "$0"; wait`, file}.Token(ctx)
		ended <- err
	}()
	waiting, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	child := 0
	for range pause.Tries(waiting, 5*time.Millisecond) {
		if text, err := os.ReadFile(file); err == nil {
			if child, err = strconv.Atoi(strings.TrimSpace(string(text))); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	cancel()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "context canceled") {
		t.Errorf("the command ends with %v", err)
	}
	for range pause.Tries(waiting, 5*time.Millisecond) {
		if child == 0 || errors.Is(syscall.Kill(child, 0), syscall.ESRCH) || isZombie(child) {
			break
		}
	}
	if child == 0 || waiting.Err() != nil {
		t.Errorf("the process %d that the command started is left", child)
	}
}

func isZombie(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(text), ") Z ")
}

func TestConfigs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		config Config
		want   string
	}{
		{Config{}, "the URL is empty; name the server"},
		{Config{URL: "jobs.test"}, "the URL is no address of a server"},
		{Config{URL: "http://me:secret@jobs.test/"}, "the URL has a user in it"},
		{Config{URL: "http://jobs.test/?key=secret"}, "the URL has a query"},
		{Config{URL: "http://jobs.test/", Dialect: "soap"}, `there is no dialect "soap"; choose plain or cloudrun`},
		{Config{URL: "http://jobs.test/", Poll: -1, Requests: 20_000, RetryMin: time.Minute, RetryMax: second}, "Poll is -1ns, must be from 1ms to 1h0m0s\nRetryMax is 1s, must be from 1m0s to 1h0m0s\nRequests is 20000"},
	} {
		if _, err := New(c.config); err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%+v gives %v, want %s", c.config, err, c.want)
		}
	}
	for _, c := range []struct {
		dialect Dialect
		job     Job
		want    string
	}{
		{Plain, Job{Overrides: Overrides{Args: []string{}}}, "overrides are for the dialect cloudrun"},
		{Plain, Job{Limit: -1}, "the limit is -1ns"},
		{CloudRun, Job{Name: "j"}, `"j" is not the name of a Cloud Run job; write projects/`},
		{CloudRun, Job{Name: runJob, Overrides: Overrides{Timeout: time.Millisecond}}, "the timeout of tasks is 1ms; choose whole seconds"},
		{CloudRun, Job{Name: runJob, Overrides: Overrides{Args: []string{"$x"}}}, `in "$x", a dollar sign stands by itself; write $$, or ${name}`},
		{CloudRun, Job{Name: runJob, Overrides: Overrides{Env: map[string]string{"A": "${"}}}, "variable A: in \"${\", ${ is no place"},
		{CloudRun, Job{Name: runJob, Overrides: Overrides{Env: map[string]string{"PULLEY_X": ""}}}, "the variable PULLEY_X is pulley's to set"},
		{CloudRun, Job{Name: runJob, Overrides: Overrides{ResultURL: "http://${host}/x"}}, "the result URL does not begin with the address of a server"},
	} {
		j, err := New(Config{Dialect: c.dialect, URL: "http://jobs.test/jobs"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Func(c.job); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v gives %v, want %s", c.job, err, c.want)
		}
		if err := j.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// Keys must be valid in a header, and differ between attempts.
func TestKeys(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	base := newCall(`{}`)
	for _, node := range []string{"a", "ü\n%\"", strings.Repeat("long", 100), strings.Repeat("long", 100) + "er", "a#1", "a%23"} {
		for attempt := 1; attempt < 3; attempt++ {
			for _, path := range []graph.Path{"", "1", "1.2"} {
				call := worker.Call{Instance: base.Instance, Node: node, Path: path, Attempt: attempt}
				key := keyOf(call)
				if other, ok := seen[key]; ok {
					t.Errorf("%q and %q have the key %s", other, call.Key(), key)
				}
				seen[key] = call.Key()
				if len(key) > 300 || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r >= 0x7F }) {
					t.Errorf("the key %q of %q is not fit for a header", key, call.Key())
				}
				if key != keyOf(call) {
					t.Error("the key changes")
				}
			}
		}
	}
}

// Each request of an attempt belongs to its span.
func TestSpansOfRequests(t *testing.T) {
	t.Parallel()
	const span = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		note := func(answer func(http.ResponseWriter, *http.Request)) func(http.ResponseWriter, *http.Request) {
			return func(w http.ResponseWriter, r *http.Request) {
				seen = append(seen, r.Method+" "+r.Header.Get("traceparent"))
				answer(w, r)
			}
		}
		script := &scripted{answers: []func(http.ResponseWriter, *http.Request){note(says(201, running)), note(says(200, done))}}
		against(t, Plain, script, nil, func(b *bench) {
			if end := ended(b.action(Job{})(worker.WithTraceParent(b.Context(), span), newCall(`{"a": 1}`))); end != "1" {
				b.Error(end)
			}
		})
		if got, want := strings.Join(seen, ", "), "POST "+span+", GET "+span; got != want {
			t.Errorf("%s; want %s", got, want)
		}
	})
}
