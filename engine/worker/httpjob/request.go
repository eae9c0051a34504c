package httpjob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"pulley/engine/worker"
	"pulley/internal/clip"
	"pulley/internal/pause"
)

// excerptRunes bounds what an error repeats of an answer.
const excerptRunes = 300

// request is what is sent. It may be sent several times.
type request struct {
	method, url string
	key         string // an Idempotency-Key; empty: none
	body        []byte
}

// String gives the method and the URL, without what may be a secret.
func (r request) String() string { return r.method + " " + withoutSecrets(r.url) }

func withoutSecrets(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "an address that cannot be read"
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment = nil, "", false, ""
	return u.String()
}

// withoutURL takes the request's address out of an error, which may have secrets in it.
func withoutURL(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// answer is an answer with a status of success.
type answer struct {
	body       []byte
	retryAfter time.Duration // zero: the server does not say
}

// sendError says why there was no answer with a status of success.
type sendError struct {
	request    request
	status     int           // zero: there was no answer
	excerpt    string        // of the answer
	retryAfter time.Duration // zero: the server does not say
	err        error         // without an answer
	unsent     bool          // the request cannot have reached the server
}

func (e *sendError) Error() string {
	if e.status == 0 {
		return fmt.Sprintf("%v: %v", e.request, e.err)
	}
	text := fmt.Sprintf("%v: %d %s", e.request, e.status, http.StatusText(e.status))
	if e.excerpt != "" {
		text += ": " + e.excerpt
	}
	return text
}

func (e *sendError) Unwrap() error { return e.err }

// passes says that repeating the request may help.
func (e *sendError) passes() bool {
	switch e.status {
	case 0, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return e.status >= 500
}

// unclear says that the server may have done what was asked for.
func (e *sendError) unclear() bool {
	if e.status == 0 {
		return !e.unsent
	}
	return e.status >= 500 || e.status == http.StatusRequestTimeout
}

// client sends requests.
type client struct {
	config Config
	http   http.Client
	tokens *tokens
	slots  chan struct{}
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

// once sends a request, and once more with another token where the server refuses the first. The error is a *sendError, the
// *worker.Error of a token that cannot be had or of an answer that is too long, or the cause of ctx.
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
			return answer{}, &worker.Error{Type: TypeToken, Message: fmt.Sprintf("no token for %v: %v", r, err)}
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
	response, err := c.http.Do(hr)
	if err != nil {
		return answer{}, c.broken(ctx, sending, r, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, int64(c.config.BodyBytes)+1))
	if err != nil {
		return answer{}, c.broken(ctx, sending, r, err)
	}
	after := c.retryAfter(response.Header.Get("Retry-After"))
	if response.StatusCode < 200 || response.StatusCode > 299 {
		e := &sendError{request: r, status: response.StatusCode, excerpt: excerpt(body, token), retryAfter: after}
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

// broken tells of a request without a whole answer.
func (c *client) broken(ctx, sending context.Context, r request, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e := &sendError{request: r, err: withoutURL(err)}
	if sending.Err() != nil {
		e.err = fmt.Errorf("no answer within %v", c.config.RequestTimeout)
	}
	var op *net.OpError
	e.unsent = errors.As(err, &op) && op.Op == "dial"
	return e
}

// excerpt shortens an answer to one line, without the token, should the server repeat it.
func excerpt(body []byte, token string) string {
	text := string(body)
	if token != "" {
		text = strings.ReplaceAll(text, token, "[token]")
	}
	return clip.Runes(strings.Join(strings.Fields(strings.ToValidUTF8(text[:min(len(text), 10*excerptRunes)], "\uFFFD")), " "), excerptRunes)
}

// retryAfter reads a Retry-After, in seconds or as a date, within its bound. What cannot be read is none.
func (c *client) retryAfter(text string) time.Duration {
	if text == "" {
		return 0
	}
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		most := int64(c.config.RetryAfterMax/time.Second) + 1
		return min(time.Duration(min(max(seconds, 0), most))*time.Second, c.config.RetryAfterMax)
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(time.Until(at), 0), c.config.RetryAfterMax)
	}
	return 0
}

// repeat sends a request until there is an answer, with growing pauses, while that may help and Patience lasts.
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

// backoff is a row of failures.
type backoff struct {
	config Config
	begun  time.Time // of the row
	pause  time.Duration
}

// wait waits before a request is repeated that failed by err. It fails where that does not help, where there is no more patience
// for it, and where ctx ends.
func (b *backoff) wait(ctx context.Context, err error) error {
	var e *sendError
	if !errors.As(err, &e) {
		return err
	}
	if !e.passes() {
		return e
	}
	if b.begun.IsZero() {
		b.begun, b.pause = time.Now(), b.config.RetryMin
	}
	pausing := max(rand.N(b.pause)+1, e.retryAfter)
	b.pause = min(2*b.pause, b.config.RetryMax)
	if time.Since(b.begun)+pausing > b.config.Patience {
		return &worker.Error{Type: TypeUnavailable, Message: fmt.Sprintf("no answer for %v, and the last time: %v", b.config.Patience, e)}
	}
	return pause.For(ctx, pausing)
}

// isStatus says that the server answered with a status.
func isStatus(err error, status int) bool {
	var e *sendError
	return errors.As(err, &e) && e.status == status
}
