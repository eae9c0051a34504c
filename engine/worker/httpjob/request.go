package httpjob

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"pulley/engine/worker"
	"pulley/internal/clip"
	"pulley/internal/pause"
)

const excerptRunes = 300

// request may be sent several times.
type request struct {
	method, url string
	key         string // the Idempotency-Key; empty: none
	body        []byte
}

// String omits possible secrets.
func (r request) String() string { return r.method + " " + withoutSecrets(r.url) }

func withoutSecrets(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "an address that cannot be read"
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment = nil, "", false, ""
	return u.String()
}

// withoutURL removes the request's address, which may have secrets, from an error.
func withoutURL(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

type answer struct {
	body       []byte
	retryAfter time.Duration
}

type sendError struct {
	request    request
	status     int
	excerpt    string
	retryAfter time.Duration // zero: not given
	err        error
	unsent     bool // the request cannot have reached the server
	lasts      bool // permanent, although there was no answer
	hadToken   bool // the request had a token
}

func (e *sendError) Error() string {
	if e.status == 0 {
		return fmt.Sprintf("%v: %v", e.request, e.err)
	}
	text := fmt.Sprintf("%v: %d %s", e.request, e.status, http.StatusText(e.status))
	switch {
	case e.status == http.StatusUnauthorized && e.hadToken:
		text += " (the server takes none of the tokens that the source gives)"
	case e.status == http.StatusUnauthorized:
		text += " (no token was sent: name what gives tokens)"
	}
	if e.excerpt != "" {
		text += ": " + e.excerpt
	}
	return text
}

func (e *sendError) Unwrap() error { return e.err }

// passes reports whether a retry may help.
func (e *sendError) passes() bool {
	switch e.status {
	case 0:
		return !e.lasts
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return e.status >= 500
}

// unclear reports whether the server may have executed the request.
func (e *sendError) unclear() bool {
	if e.status == 0 {
		return !e.unsent
	}
	return e.status >= 500 || e.status == http.StatusRequestTimeout
}

func isUnclear(err error) bool {
	var e *sendError
	var t *tokenError
	return !errors.As(err, &t) && (!errors.As(err, &e) || e.unclear())
}

type tokenError struct {
	request request
	err     error
	passes  bool // the source has given a token before
}

func (e *tokenError) Error() string { return fmt.Sprintf("no token for %v: %v", e.request, e.err) }

func (e *tokenError) Unwrap() error { return e.err }

type client struct {
	config   Config
	http     http.Client
	tokens   *tokens
	slots    chan struct{}
	answered atomic.Bool // the server has answered a request
}

func newClient(c Config) *client {
	transport := c.Transport
	if transport == nil {
		transport = &http.Transport{
			Proxy:       http.ProxyFromEnvironment,
			DialContext: (&net.Dialer{Timeout: c.RequestTimeout, KeepAlive: 30 * time.Second}).DialContext,
			// HTTP/2 shares one connection, HTTP/1 has one for each request in flight; both keep them.
			ForceAttemptHTTP2: true, MaxIdleConns: c.Requests, MaxIdleConnsPerHost: c.Requests, IdleConnTimeout: 90 * time.Second,
			TLSHandshakeTimeout: c.RequestTimeout, ResponseHeaderTimeout: c.RequestTimeout, MaxResponseHeaderBytes: 64 << 10,
		}
	}
	return &client{
		config: c, tokens: newTokens(c.Token), slots: make(chan struct{}, c.Requests),
		// A redirect would take the token elsewhere.
		http: http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
}

// once sends a request, and again with another token if the server refuses the first. The error is a *sendError, a *tokenError,
// the *worker.Error of a too long answer, or the cause of ctx.
func (c *client) once(ctx context.Context, r request) (answer, error) {
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return answer{}, context.Cause(ctx)
	}
	defer func() { <-c.slots }()
	refused := ""
	for {
		token, err := c.tokens.get(ctx, refused)
		if err != nil {
			if ctx.Err() != nil {
				return answer{}, context.Cause(ctx)
			}
			return answer{}, &tokenError{request: r, err: err, passes: c.tokens.hasGiven()}
		}
		a, err := c.send(ctx, r, token)
		var wrong *sendError
		if errors.As(err, &wrong) && wrong.status == http.StatusUnauthorized && refused == "" && token != "" {
			refused = token
			continue
		}
		return a, err
	}
}

func (c *client) send(ctx context.Context, r request, token string) (answer, error) {
	sending, cancel := context.WithTimeout(ctx, c.config.RequestTimeout)
	defer cancel()
	hr, err := http.NewRequestWithContext(sending, r.method, r.url, bytes.NewReader(r.body))
	if err != nil {
		return answer{}, &worker.Error{Type: TypeHTTP, Message: fmt.Sprintf("%v: %v", r, withoutURL(err))}
	}
	hr.Header.Set("Accept", "application/json")
	hr.Header.Set("User-Agent", "pulley")
	if r.body != nil {
		hr.Header.Set("Content-Type", "application/json")
	}
	if r.key != "" {
		hr.Header.Set("Idempotency-Key", r.key)
	}
	if token != "" {
		hr.Header.Set("Authorization", "Bearer "+token)
	}
	if parent := worker.TraceParent(ctx); parent != "" {
		hr.Header.Set("traceparent", parent)
	}
	response, err := c.http.Do(hr)
	if err != nil {
		return answer{}, c.broken(ctx, sending, r, err)
	}
	defer response.Body.Close()
	c.answered.Store(true)
	body, err := io.ReadAll(io.LimitReader(response.Body, int64(c.config.BodyBytes)+1))
	if err != nil {
		return answer{}, c.broken(ctx, sending, r, err)
	}
	after := c.retryAfter(response.Header)
	if response.StatusCode < 200 || response.StatusCode > 299 {
		e := &sendError{request: r, status: response.StatusCode, excerpt: excerpt(body, token), retryAfter: after, hadToken: token != ""}
		if response.StatusCode < 400 {
			e.excerpt = "it sends elsewhere, which is not followed; name the address where the API is"
		}
		return answer{}, e
	}
	if len(body) > c.config.BodyBytes {
		return answer{}, &worker.Error{Type: worker.TypeLimit, Message: fmt.Sprintf("%v: the answer is longer than the limit of %d bytes", r, c.config.BodyBytes)}
	}
	return answer{body: body, retryAfter: after}, nil
}

func (c *client) broken(ctx, sending context.Context, r request, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e := &sendError{request: r, err: withoutURL(err)}
	if sending.Err() != nil {
		e.err = fmt.Errorf("no answer within %v", c.config.RequestTimeout)
	}
	var op *net.OpError
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect"):
		e.unsent = true
	case errors.As(err, &untrusted):
		e.unsent, e.lasts = true, !c.answered.Load()
		e.err = fmt.Errorf("%w; where an authority of your own has signed it, name the file of its certificate in SSL_CERT_FILE", e.err)
	case errors.Is(err, http.ErrSchemeMismatch):
		e.unsent, e.lasts = true, !c.answered.Load()
		e.err = errors.New("the server does not speak TLS; write http:// in the URL, or the port where it does")
	}
	return e
}

// excerpt shortens an answer to one line, without the token.
func excerpt(body []byte, token string) string {
	text := string(body)
	if token != "" {
		text = strings.ReplaceAll(text, token, "[token]")
	}
	return clip.Runes(strings.Join(strings.Fields(strings.ToValidUTF8(text[:min(len(text), 10*excerptRunes)], "\uFFFD")), " "), excerptRunes)
}

// retryAfter parses seconds or a date by the server's clock, within its bound; zero if invalid.
func (c *client) retryAfter(header http.Header) time.Duration {
	text := header.Get("Retry-After")
	if text == "" {
		return 0
	}
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		most := int64(c.config.RetryAfterMax/time.Second) + 1
		return min(time.Duration(min(max(seconds, 0), most))*time.Second, c.config.RetryAfterMax)
	}
	if at, err := http.ParseTime(text); err == nil {
		now, err := http.ParseTime(header.Get("Date"))
		if err != nil {
			now = time.Now()
		}
		return min(max(at.Sub(now), 0), c.config.RetryAfterMax)
	}
	return 0
}

// repeat sends a request until it is answered, with growing pauses, while that may help and GraceTime lasts.
func (c *client) repeat(ctx context.Context, r request) (answer, error) {
	b := backoff{config: c.config}
	for {
		a, err := c.once(ctx, r)
		if err == nil {
			return a, nil
		}
		if err := b.wait(ctx, err); err != nil {
			return answer{}, err
		}
	}
}

type backoff struct {
	config Config
	begun  time.Time
	pause  time.Duration
}

// wait waits before a request that failed by err is retried: a random time, after what the server asked for, so that clients
// rejected together do not return together. The last retry is at the end of GraceTime. wait fails if a retry does not help, if
// GraceTime is over, or when ctx ends.
func (b *backoff) wait(ctx context.Context, err error) error {
	var e *sendError
	var noToken *tokenError
	kind, asked := TypeUnavailable, time.Duration(0)
	switch {
	case errors.As(err, &noToken) && noToken.passes:
		kind = TypeToken
	case errors.As(err, &e) && e.passes():
		asked = e.retryAfter
	default:
		return err
	}
	if b.begun.IsZero() {
		b.begun, b.pause = time.Now(), b.config.RetryMin
	}
	left := b.config.GraceTime - time.Since(b.begun)
	if left <= 0 {
		return &worker.Error{Type: kind, Message: fmt.Sprintf("no answer for %v, and the last time: %v", b.config.GraceTime, err)}
	}
	pausing := asked + rand.N(b.pause) + 1
	b.pause = min(2*b.pause, b.config.RetryMax)
	return pause.For(ctx, min(pausing, left))
}

func isStatus(err error, status int) bool {
	var e *sendError
	return errors.As(err, &e) && e.status == status
}
