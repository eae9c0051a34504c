package httpjob

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pulley/engine/worker/httpjob/jobserver"
)

// Tokens that expire within the margin are used for three quarters of their validity.
func TestTokensOfShortLives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		k := newTokens(source(func() (Token, error) {
			asked++
			return Token{Value: fmt.Sprint("t", asked), Expires: time.Now().Add(40 * second)}, nil
		}))
		for _, c := range []struct {
			wait time.Duration
			want string
		}{{0, "t1"}, {29 * second, "t1"}, {2 * second, "t2"}, {29 * second, "t2"}} {
			time.Sleep(c.wait)
			if got, err := k.get(t.Context(), ""); got != c.want {
				t.Errorf("%v later the token is %s, %v; want %s", c.wait, got, err, c.want)
			}
		}
	})
}

func TestTokensServeWhileTheNextIsAskedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		k := newTokens(source(func() (Token, error) {
			if asked++; asked == 2 {
				time.Sleep(20 * second)
			}
			return Token{Value: fmt.Sprint("t", asked), Expires: time.Now().Add(time.Hour)}, nil
		}))
		want := func(want string) {
			if got, err := k.get(t.Context(), ""); got != want {
				t.Errorf("the token is %s, %v; want %s", got, err, want)
			}
		}
		want("t1")
		time.Sleep(59*time.Minute + second)
		var all sync.WaitGroup
		all.Go(func() { want("t2") })
		synctest.Wait()
		begun := time.Now()
		want("t1")
		if took := time.Since(begun); took != 0 {
			t.Errorf("a token that serves was there after %v", took)
		}
		all.Wait()
		want("t2")
	})
}

// There is no token for two minutes while a job runs, and then for longer than Config.GraceTime.
func TestTokenSourceFailsForAWhile(t *testing.T) {
	t.Parallel()
	sc := jobserver.Config{Behave: func(s jobserver.Start) jobserver.Behaviour {
		return jobserver.Behaviour{After: 10 * time.Minute, Result: s.Args}
	}}
	for _, c := range []struct {
		fails time.Duration
		want  string
	}{
		{2 * time.Minute, `{"a":1}`},
		{time.Hour, "TokenError: no answer for 5m0s, and the last time: no token for GET http://jobs.test/"},
	} {
		dialects(t, sc, func(config *Config) {
			begun := time.Now()
			config.Token = source(func() (Token, error) {
				if age := time.Since(begun); age > time.Minute && age < time.Minute+c.fails {
					return Token{}, errors.New("out of order")
				}
				return Token{Value: "t", Expires: time.Now().Add(10 * second)}, nil
			})
		}, func(b *bench) {
			b.wants(newCall(`{"a":1}`), b.action(Job{}), c.want)
			b.startedOnce(1)
		})
	}
}

// Neither the default transport, which may use a proxy, nor a kept connection may be used. The test runs alone, because it
// changes the default transport.
func TestMetadataServersAreAskedDirectly(t *testing.T) {
	before := http.DefaultTransport
	defer func() { http.DefaultTransport = before }()
	http.DefaultTransport = roundTripper(func(*http.Request) (*http.Response, error) { return nil, errors.New("by the way of a proxy") })
	server := newTCP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !r.Close {
			t.Error("the connection is kept")
		}
		says(200, `{"access_token": "m", "expires_in": 3599}`)(w, r)
	}))
	if token, err := MetadataToken(server).Token(t.Context()); err != nil || token.Value != "m" {
		t.Errorf("it gives %q, %v", token.Value, err)
	}
	if transport, ok := metadataClient.Transport.(*http.Transport); !ok || transport.Proxy != nil {
		t.Error("a proxy may stand between")
	}
}
