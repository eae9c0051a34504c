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

// Token authorizes requests, as a bearer token.
type Token struct {
	Value   string
	Expires time.Time // zero: it is not known when
}

// TokenSource gives tokens. It is asked again when a token is about to expire, and once when the server refuses one.
type TokenSource interface {
	// Token gets a token. The error must not have one in it.
	Token(ctx context.Context) (Token, error)
}

// Bounds of getting tokens.
const (
	tokenTimeout = 30 * time.Second // of asking once
	tokenBytes   = 64 << 10         // of what a source says
	tokenMargin  = time.Minute      // before its end a token is replaced, or a quarter of its life, if that is less
	tokenAgain   = 10 * time.Second // after a source failed, while the token that is there serves
)

// StaticToken is a source of one token.
type StaticToken string

// Token implements TokenSource.
func (s StaticToken) Token(context.Context) (Token, error) { return Token{Value: string(s)}, nil }

// CommandToken is a program and its arguments, which writes a token to its standard output: by itself, or as a JSON object with
// access_token and, if it is known, expires_in in seconds.
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
	// What the program starts ends with it: it leads a group of its own, and the whole group is killed.
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

// MetadataToken is the address of a metadata server that gives the tokens of the machine's account; empty means that of Google
// Cloud.
type MetadataToken string

// MetadataURL is where machines of Google Cloud get the tokens of their account.
const MetadataURL = "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token"

// metadataClient asks metadata servers. They are this machine's own: no proxy gets to see a token, and no connection is kept for a
// question that comes once in an hour.
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

// readToken reads a token in the form of OAuth 2.
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

// checkToken refuses what cannot stand in a header.
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

// boundedBuffer keeps the begin of what is written to it.
type boundedBuffer struct {
	bytes.Buffer
	most int
}

// Write implements io.Writer. It takes everything, and keeps what has room.
func (b *boundedBuffer) Write(p []byte) (int, error) {
	_, _ = b.Buffer.Write(p[:min(len(p), b.most-b.Len())])
	return len(p), nil
}

// tokens keeps a source's token until it is about to expire. One at a time asks the source for the next; the others wait for that, unless
// the token that is there still serves.
type tokens struct {
	source TokenSource
	turn   chan struct{} // has room for who asks the source

	mu    sync.Mutex
	now   Token
	renew time.Time // when the source is to be asked for the next one; zero: only if this one is refused
}

func newTokens(source TokenSource) *tokens {
	return &tokens{source: source, turn: make(chan struct{}, 1)}
}

// get gives a token that differs from one that was refused; empty: none was.
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
			return value, nil // somebody asks for the next one
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

// held gives the token that is there, if it serves: it has not expired, and is not the one that was refused. A fresh one is not to be
// replaced yet.
func (t *tokens) held(refused string) (value string, serves, isFresh bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if t.now.Value == "" || t.now.Value == refused || !t.now.Expires.IsZero() && !now.Before(t.now.Expires) {
		return "", false, false
	}
	return t.now.Value, true, t.renew.IsZero() || now.Before(t.renew)
}

// hasGiven says that the source has given a token before.
func (t *tokens) hasGiven() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now.Value != ""
}

// renewal is when a token is to be replaced, which was given now: some time before it expires, so that it lives as long as a request
// takes, and not too large a part of its life before.
func renewal(t Token, now time.Time) time.Time {
	if t.Expires.IsZero() {
		return time.Time{}
	}
	return t.Expires.Add(-min(tokenMargin, t.Expires.Sub(now)/4))
}
