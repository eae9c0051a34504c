package httpjob

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"pulley/internal/clip"
)

// Token is a bearer token.
type Token struct {
	Value   string
	Expires time.Time // zero: unknown
}

// TokenSource provides tokens, before a token expires and once when the server refuses one.
type TokenSource interface {
	// Token gets a token. The error must not contain one.
	Token(ctx context.Context) (Token, error)
}

const (
	tokenTimeout = 30 * time.Second
	tokenBytes   = 64 << 10         // of a source's output
	tokenMargin  = time.Minute      // before its end a token is replaced; at most a quarter of its lifetime
	tokenAgain   = 10 * time.Second // pause after a source failed, while the current token is valid
)

// StaticToken is a source of one token.
type StaticToken string

// Token implements TokenSource.
func (s StaticToken) Token(context.Context) (Token, error) { return Token{Value: string(s)}, nil }

// CommandToken is a program with arguments that writes a token to its standard output: as text, or as a JSON object with
// access_token and optionally expires_in in seconds.
type CommandToken []string

// Token implements TokenSource.
func (c CommandToken) Token(ctx context.Context) (Token, error) {
	if len(c) == 0 || c[0] == "" {
		return Token{}, errors.New("the command that gives tokens is empty; name a program")
	}
	ctx, cancel := context.WithTimeout(ctx, tokenTimeout)
	defer cancel()
	begun := time.Now()
	cmd := exec.CommandContext(ctx, c[0], c[1:]...)
	// The whole process group of the program is killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	stdout, stderr := &boundedBuffer{most: tokenBytes}, &boundedBuffer{most: 1000}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		said := strings.Join(strings.Fields(strings.ToValidUTF8(stderr.String(), "\uFFFD")), " ")
		if said != "" {
			return Token{}, fmt.Errorf("the command %s: %w: %s", c[0], err, clip.Runes(said, 200))
		}
		return Token{}, fmt.Errorf("the command %s: %w", c[0], err)
	}
	if text := bytes.TrimSpace(stdout.Bytes()); len(text) > 0 && text[0] != '{' {
		return checkToken(Token{Value: string(text)}, "the command "+c[0])
	}
	return readToken(stdout.Bytes(), begun, "the command "+c[0])
}

// MetadataToken is the address of a metadata server with tokens of the machine's account; empty: Google Cloud's.
type MetadataToken string

// MetadataURL is Google Cloud's metadata address for tokens.
const MetadataURL = "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token"

// metadataClient asks the machine's metadata server without a proxy, which could see a token, and keeps no connection for one
// request an hour.
var metadataClient = http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// Token implements TokenSource.
func (m MetadataToken) Token(ctx context.Context) (Token, error) {
	address := string(m)
	if address == "" {
		address = MetadataURL
	}
	ctx, cancel := context.WithTimeout(ctx, tokenTimeout)
	defer cancel()
	begun := time.Now()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return Token{}, errors.New("the address of the metadata server is no URL")
	}
	request.Header.Set("Metadata-Flavor", "Google")
	answer, err := metadataClient.Do(request)
	if err != nil {
		return Token{}, fmt.Errorf("the metadata server at %s: %w", request.URL.Host, withoutURL(err))
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, tokenBytes))
	switch {
	case err != nil:
		return Token{}, fmt.Errorf("the metadata server at %s: %w", request.URL.Host, err)
	case answer.StatusCode != http.StatusOK:
		return Token{}, fmt.Errorf("the metadata server at %s answers %s", request.URL.Host, answer.Status)
	}
	return readToken(body, begun, "the metadata server at "+request.URL.Host)
}

func readToken(text []byte, asked time.Time, who string) (Token, error) {
	var said struct {
		AccessToken string   `json:"access_token"`
		ExpiresIn   *float64 `json:"expires_in"`
	}
	if err := json.Unmarshal(text, &said); err != nil {
		return Token{}, fmt.Errorf("%s gives no token: it writes one by itself, or JSON with access_token and expires_in", who)
	}
	t := Token{Value: said.AccessToken}
	if said.ExpiresIn != nil {
		seconds := min(max(*said.ExpiresIn, 0), 1e9)
		t.Expires = asked.Add(time.Duration(seconds * float64(time.Second)))
	}
	return checkToken(t, who)
}

// checkToken rejects what is not valid in a header.
func checkToken(t Token, who string) (Token, error) {
	if t.Value == "" {
		return Token{}, fmt.Errorf("%s gives an empty token", who)
	}
	for _, c := range []byte(t.Value) {
		if c <= ' ' || c >= 0x7F {
			return Token{}, fmt.Errorf("%s gives what cannot be a token: it has blanks, line feeds or other characters that a header does not take", who)
		}
	}
	return t, nil
}

type boundedBuffer struct {
	bytes.Buffer
	most int
}

// Write implements io.Writer. It accepts everything and keeps what fits.
func (b *boundedBuffer) Write(p []byte) (int, error) {
	_, _ = b.Buffer.Write(p[:min(len(p), b.most-b.Len())])
	return len(p), nil
}

// tokens keeps a source's token until it is about to expire. One goroutine at a time gets the next; the others wait for it,
// unless the current token is still valid.
type tokens struct {
	source TokenSource
	turn   chan struct{} // held by the goroutine that asks the source

	mu    sync.Mutex
	now   Token
	renew time.Time // when to get the next one; zero: only if this one is refused
}

func newTokens(source TokenSource) *tokens {
	return &tokens{source: source, turn: make(chan struct{}, 1)}
}

// get returns a token that differs from a refused one; empty: none was refused.
func (t *tokens) get(ctx context.Context, refused string) (string, error) {
	if t.source == nil {
		return "", nil
	}
	value, serves, isFresh := t.held(refused)
	if isFresh {
		return value, nil
	}
	select {
	case t.turn <- struct{}{}:
	default:
		if serves {
			return value, nil // another goroutine gets the next one
		}
		select {
		case t.turn <- struct{}{}:
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
	defer func() { <-t.turn }()
	if value, serves, isFresh = t.held(refused); isFresh {
		return value, nil
	}
	next, err := t.source.Token(ctx)
	if err == nil {
		next, err = checkToken(next, "the source")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err == nil:
		t.now, t.renew = next, renewal(next, time.Now())
		return next.Value, nil
	case serves:
		t.renew = time.Now().Add(tokenAgain)
		return value, nil
	}
	return "", err
}

// held returns the current token, and whether it serves: not expired, and not the refused one. A fresh one need not be replaced
// yet.
func (t *tokens) held(refused string) (value string, serves, isFresh bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if t.now.Value == "" || t.now.Value == refused || !t.now.Expires.IsZero() && !now.Before(t.now.Expires) {
		return "", false, false
	}
	return t.now.Value, true, t.renew.IsZero() || now.Before(t.renew)
}

func (t *tokens) hasGiven() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now.Value != ""
}

// renewal is when to replace a token given now: early enough that it outlives a request, but late in its lifetime.
func renewal(t Token, now time.Time) time.Time {
	if t.Expires.IsZero() {
		return time.Time{}
	}
	return t.Expires.Add(-min(tokenMargin, t.Expires.Sub(now)/4))
}
