package pgserver

import (
	"cmp"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	maxArchiveBytes  = 512 << 20
	maxChecksumBytes = 4 << 10
)

// relay is a local proxy between embedded-postgres and the repository, for one download. The library asks without a deadline,
// cannot be interrupted, skips a missing checksum, and explains failures badly. Through the relay, downloads end with ctx, are
// bounded in size, are checked, and their failures are kept.
type relay struct {
	url    string // the library's repository address
	base   string // the repository; empty: requests are only recorded
	ctx    context.Context
	log    func(string)
	client *http.Client
	server *http.Server
	served chan struct{} // closed when the server ended

	mu            sync.Mutex
	requestedPath string            // the first requested path
	sums          map[string]string // path of a delivered archive → its SHA-256 in hex
	failed        error
}

// startRelay serves until stop. Requests to the repository end with ctx.
func startRelay(ctx context.Context, base string, log func(string)) (*relay, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("no local port for the download: %w", err)
	}
	r := &relay{
		url: "http://" + listener.Addr().String(), base: base, ctx: ctx, log: log,
		client: &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()},
		served: make(chan struct{}), sums: map[string]string{},
	}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(r.served)
		_ = r.server.Serve(listener) // ends with stop
	}()
	return r, nil
}

func (r *relay) stop() {
	_ = r.server.Close()
	<-r.served
	r.client.CloseIdleConnections()
}

func (r *relay) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

func (r *relay) asked() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.requestedPath
}

func (r *relay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if archive, ok := strings.CutSuffix(req.URL.Path, ".sha256"); ok {
		r.mu.Lock()
		sum, known := r.sums[archive]
		r.mu.Unlock()
		if !known {
			http.NotFound(w, req)
			return
		}
		_, _ = io.WriteString(w, sum)
		return
	}
	r.mu.Lock()
	r.requestedPath = cmp.Or(r.requestedPath, req.URL.Path)
	r.mu.Unlock()
	if r.base == "" {
		http.NotFound(w, req)
		return
	}
	body, err := r.archive(req.URL.Path)
	if err != nil {
		r.mu.Lock()
		r.failed = cmp.Or(r.failed, err)
		r.mu.Unlock()
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	_, _ = w.Write(body)
}

func (r *relay) archive(path string) ([]byte, error) {
	body, err := r.get(path, maxArchiveBytes)
	if errors.Is(err, errNotThere) {
		return nil, fmt.Errorf("%s has no build %s: check PULLEY_POSTGRES_MIRROR and PULLEY_POSTGRES_VERSION", withoutUser(r.base), path)
	}
	if err != nil {
		return nil, err
	}
	if err := r.verify(path, body); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	r.mu.Lock()
	r.sums[path] = hex.EncodeToString(sum[:])
	r.mu.Unlock()
	return body, nil
}

// verify checks the repository's strongest checksum. A user's own repository may have none, which is logged; the default one
// must.
func (r *relay) verify(path string, body []byte) error {
	for _, kind := range []struct {
		suffix string
		hash   hash.Hash
	}{{".sha256", sha256.New()}, {".sha1", sha1.New()}} {
		text, err := r.get(path+kind.suffix, maxChecksumBytes)
		if errors.Is(err, errNotThere) {
			continue
		}
		if err != nil {
			return err
		}
		kind.hash.Write(body)
		want := firstField(string(text))
		if got := hex.EncodeToString(kind.hash.Sum(nil)); !strings.EqualFold(got, want) {
			return fmt.Errorf("the archive %s from %s is damaged: its checksum is %s, the repository says %q", path, withoutUser(r.base), got, want)
		}
		return nil
	}
	if r.base == defaultDownloadURL {
		return fmt.Errorf("%s offers no checksum for %s: it is not used", r.base, path)
	}
	r.log("download: " + withoutUser(r.base) + " offers no checksum, the archive is used as it came")
	return nil
}

func firstField(text string) string {
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return ""
	}
	return fields[0]
}

var errNotThere = errors.New("not there")

// get downloads at most limit bytes. A missing file is errNotThere.
func (r *relay) get(path string, limit int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(r.ctx, http.MethodGet, r.base+path, nil)
	if err != nil {
		return nil, fmt.Errorf("%q is no address of a repository: %s", withoutUser(r.base), oneLine(innermost(err)))
	}
	answer, err := r.client.Do(req)
	if err != nil {
		if r.ctx.Err() != nil {
			err = context.Cause(r.ctx)
		}
		return nil, fmt.Errorf("%s cannot be reached: %s", withoutUser(r.base), oneLine(innermost(err)))
	}
	defer func() { _ = answer.Body.Close() }()
	switch {
	case answer.StatusCode == http.StatusNotFound:
		return nil, errNotThere
	case answer.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s answers %q for %s", withoutUser(r.base), answer.Status, path)
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the download from %s broke off: %w", withoutUser(r.base), err)
	case int64(len(body)) > limit:
		return nil, fmt.Errorf("%s from %s is larger than %d MB: it is not used", path, withoutUser(r.base), limit>>20)
	}
	return body, nil
}
