package pgserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Finding is what Probe found about one way.
type Finding struct {
	Way    Way  `json:"way"`
	Usable bool `json:"usable"` // Open would succeed this way

	// Found is what exists: the server, the binaries, the engine, the build. Empty if nothing.
	Found string `json:"found"`

	// Problem is why the way is not usable, and Advice what to do about it: single lines without a password, empty for a usable
	// way.
	Problem string `json:"problem,omitempty"`
	Advice  string `json:"advice,omitempty"`

	// Verified means that a server was reached, or started and ended again, and answered a query: Version (server_version_num)
	// and Durability are its own. Otherwise both are zero, and a usable way needs a download first.
	Verified   bool       `json:"verified"`
	Version    int        `json:"version,omitempty"`
	Durability Durability `json:"durability,omitzero"`
}

// Probe checks every way in Options.Ways, in order. It starts servers and ends them again, but pulls no image and downloads no
// build. It takes a few seconds, bounded per way by Options.StartTimeout. The error is about the options only.
func Probe(ctx context.Context, o Options) ([]Finding, error) {
	o, err := o.resolve()
	if err != nil {
		return nil, err
	}
	o.sweep(ctx)
	findings := make([]Finding, len(o.Ways))
	var all sync.WaitGroup
	for i, way := range o.Ways {
		all.Go(func() {
			limited, cancel := context.WithTimeout(ctx, o.StartTimeout)
			defer cancel()
			findings[i] = o.probe(limited, way)
			findings[i].Way = way
		})
	}
	all.Wait()
	return findings, nil
}

func (o Options) probe(ctx context.Context, way Way) Finding {
	switch way {
	case WayDSN:
		return o.probeDSN(ctx)
	case WayLocal:
		return o.probeByOpening(ctx, way, howToInstall())
	case WayDocker:
		return o.probeDocker(ctx)
	default:
		return o.probeDownload(ctx)
	}
}

func (o Options) probeByOpening(ctx context.Context, way Way, advice string) Finding {
	s, err := o.open(ctx, way)
	if err != nil {
		return Finding{Problem: oneLine(err.Error()), Advice: advice}
	}
	if err := s.Close(ctx); err != nil {
		o.logf("%s: %v", way.title(), err)
	}
	return Finding{Usable: true, Verified: true, Found: s.Describe(), Version: s.Version(), Durability: s.Durability()}
}

func (o Options) probeDSN(ctx context.Context) Finding {
	if o.DSN == "" {
		return Finding{Problem: "none given", Advice: "give one with --dsn or PULLEY_DSN to use a running server"}
	}
	return o.probeByOpening(ctx, WayDSN, "correct --dsn or PULLEY_DSN, or leave it out to have a server started")
}

func (o Options) probeDocker(ctx context.Context) Finding {
	e, err := o.dialEngine(ctx)
	if err != nil {
		return Finding{Problem: err.Error(), Advice: "install and start Docker, or let this user reach its socket"}
	}
	defer func() { _ = e.Close() }()
	has, err := e.hasImage(ctx, o.Image)
	if err != nil {
		return Finding{Found: e.version, Problem: err.Error(), Advice: "look into the engine's log"}
	}
	if has {
		return o.probeByOpening(ctx, WayDocker, "look into the engine's log, or name another image in PULLEY_POSTGRES_IMAGE")
	}
	if err := e.canPull(ctx, o.Image); err != nil {
		return Finding{Found: e.version, Problem: err.Error(), Advice: "pull it where there is a network, or name another one in PULLEY_POSTGRES_IMAGE"}
	}
	return Finding{Usable: true, Found: fmt.Sprintf("%s, which would pull %s", e.version, o.Image)}
}

func (o Options) probeDownload(ctx context.Context) Finding {
	const advice = "name a reachable repository in PULLEY_POSTGRES_MIRROR"
	cache, err := o.cacheDir()
	if err != nil {
		return Finding{Problem: err.Error(), Advice: "set HOME"}
	}
	if hasBuild(buildDir(cache, o.DownloadVersion)) {
		return o.probeByOpening(ctx, WayDownload, "remove "+buildDir(cache, o.DownloadVersion)+" to fetch it again")
	}
	if _, err := serverAccount(); err != nil {
		return Finding{Problem: err.Error(), Advice: "run as an ordinary user"}
	}
	if err := o.canDownload(ctx); err != nil {
		return Finding{Problem: err.Error(), Advice: advice}
	}
	return Finding{Usable: true, Found: fmt.Sprintf("PostgreSQL %s can be fetched from %s", o.DownloadVersion, withoutUser(o.DownloadURL))}
}

// canDownload asks the repository for the build without downloading it. Only the library knows the build's address, so it asks
// through a relay that checks whether the address exists.
func (o Options) canDownload(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, engineTimeout, errors.New("no answer in time"))
	defer cancel()
	address, err := o.buildAddress(ctx)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, o.DownloadURL+address, nil)
	if err != nil {
		return fmt.Errorf("%q is no address of a repository", withoutUser(o.DownloadURL))
	}
	client := &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone(), Timeout: time.Minute}
	defer client.CloseIdleConnections()
	answer, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("%s cannot be reached: %s", withoutUser(o.DownloadURL), oneLine(innermost(err)))
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %q for %s", withoutUser(o.DownloadURL), answer.Status, address)
	}
	return nil
}
