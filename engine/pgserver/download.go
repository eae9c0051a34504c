package pgserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"

	"pulley/internal/pause"
)

var downloadVersion = regexp.MustCompile(`^[0-9]+(\.[0-9]+)*$`)

func (o Options) openDownload(ctx context.Context) (*Server, error) {
	who, err := serverAccount()
	if err != nil {
		return nil, err
	}
	dir, err := o.ensureBuild(ctx, who)
	if err != nil {
		return nil, err
	}
	b, err := examine(ctx, filepath.Join(dir, "bin"), who)
	if err != nil {
		return nil, fmt.Errorf("the build in the cache cannot be used: %w; remove %s to fetch it again", err, dir)
	}
	return o.openCluster(ctx, WayDownload, b, who)
}

// ensureBuild returns the directory of the build, downloading it if it is not cached. Other processes wait for the one that
// downloads; a build appears in the cache whole or not at all.
func (o Options) ensureBuild(ctx context.Context, who *account) (string, error) {
	if !downloadVersion.MatchString(o.DownloadVersion) {
		return "", fmt.Errorf("%q is no version of a build: write it like %s", o.DownloadVersion, defaultDownloadVersion)
	}
	cache, err := o.cacheDir()
	if err != nil {
		return "", err
	}
	final := buildDir(cache, o.DownloadVersion)
	if hasBuild(final) {
		return final, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", fmt.Errorf("the cache directory cannot be made: %w", err)
	}
	if err := who.checkEnter(cache); err != nil {
		return "", fmt.Errorf("%w: name another cache directory", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.FetchTimeout, fmt.Errorf("not done within %s", o.FetchTimeout))
	defer cancel()
	unlock, err := lockCache(ctx, cache)
	if err != nil {
		return "", err
	}
	defer unlock()
	if hasBuild(final) {
		return final, nil
	}
	if err := o.fetchBuild(ctx, cache, final); err != nil {
		return "", err
	}
	return final, nil
}

// cacheDir is the cache of builds. Other accounts cannot read root's cache, and the server does not run as root: so root's
// builds are in a directory that every account can read.
func (o Options) cacheDir() (string, error) {
	switch {
	case o.CacheDir != "":
		return filepath.Abs(o.CacheDir)
	case os.Geteuid() == 0 && runtime.GOOS == "darwin":
		return "/Library/Caches/pulley", nil
	case os.Geteuid() == 0:
		return "/var/cache/pulley", nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("there is no cache directory for the build: %w; set HOME", err)
	}
	return filepath.Join(dir, "pulley"), nil
}

func buildDir(cache, version string) string {
	return filepath.Join(cache, fmt.Sprintf("postgres-%s-%s-%s", version, runtime.GOOS, runtime.GOARCH))
}

func hasBuild(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "bin", "postgres"))
	return err == nil
}

func lockCache(ctx context.Context, cache string) (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(cache, lockName), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("the cache cannot be locked: %w", err)
	}
	for range pause.Tries(ctx, 100*time.Millisecond) {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			_ = file.Close()
			return nil, fmt.Errorf("the cache %s cannot be locked: %w", cache, err)
		}
	}
	_ = file.Close()
	return nil, fmt.Errorf("another process is fetching into %s: %w", cache, context.Cause(ctx))
}

const scratchPrefix = "fetch-"

// fetchBuild downloads and unpacks a build, then renames it to its final place. The cache must be locked.
func (o Options) fetchBuild(ctx context.Context, cache, final string) error {
	// These were left by a process that was killed during a download: we have the lock.
	stale, _ := filepath.Glob(filepath.Join(cache, scratchPrefix+"*"))
	for _, dir := range stale {
		_ = os.RemoveAll(dir)
	}
	scratch, err := os.MkdirTemp(cache, scratchPrefix)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	unpacked := filepath.Join(scratch, "build")
	o.logf("download: fetching PostgreSQL %s from %s", o.DownloadVersion, withoutUser(o.DownloadURL))
	if err := o.unpackBuild(ctx, scratch, unpacked); err != nil {
		return err
	}
	if !hasBuild(unpacked) {
		return fmt.Errorf("the archive from %s holds no bin/postgres", withoutUser(o.DownloadURL))
	}
	if err := letOthersRead(unpacked); err != nil {
		return err
	}
	if err := os.RemoveAll(final); err != nil {
		return err
	}
	return os.Rename(unpacked, final)
}

func (o Options) unpackBuild(ctx context.Context, scratch, unpacked string) error {
	relay, err := startRelay(ctx, o.DownloadURL, o.Log)
	if err != nil {
		return err
	}
	defer relay.stop()
	err = o.runLibrary(relay.url, scratch, unpacked)
	if hasBuild(unpacked) {
		return nil
	}
	if cause := relay.failure(); cause != nil {
		return cause
	}
	if ctx.Err() != nil {
		return fmt.Errorf("fetching the build: %w", context.Cause(ctx))
	}
	return fmt.Errorf("the build cannot be unpacked: %s", oneLine(fmt.Sprint(err)))
}

// runLibrary lets embedded-postgres do what it knows: the repository's layout, this machine's build, the checksum, the archive
// in the archive. It must not start a server, which it would run as this user and on a network port. It has no call for that,
// so its data directory has a name that it cannot remove ("."): it stops after unpacking. So it always returns an error; only
// the unpacked files count.
func (o Options) runLibrary(repository, scratch, unpacked string) error {
	began := time.Now()
	defer removeLibraryLog(began)
	return embeddedpostgres.NewDatabase(embeddedpostgres.DefaultConfig().
		Version(embeddedpostgres.PostgresVersion(o.DownloadVersion)).
		BinaryRepositoryURL(repository).
		CachePath(scratch).
		BinariesPath(unpacked).
		RuntimePath(filepath.Join(scratch, "run")).
		DataPath(scratch + "/data/.").
		Port(0). // any free port passes its check
		Logger(io.Discard)).Start()
}

// buildAddress is the repository path of this machine's build. Only the library knows it, so it asks a relay that answers
// nothing.
func (o Options) buildAddress(ctx context.Context) (string, error) {
	scratch, err := os.MkdirTemp(o.TempDir, runDirPrefix+"ask-")
	if err != nil {
		return "", fmt.Errorf("no temporary directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	relay, err := startRelay(ctx, "", o.Log)
	if err != nil {
		return "", err
	}
	defer relay.stop()
	_ = o.runLibrary(relay.url, scratch, filepath.Join(scratch, "build"))
	return relay.asked(), nil
}

// letOthersRead lets the server's account read a build, whatever our umask is.
func letOthersRead(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		mode := info.Mode().Perm() | 0o444
		if entry.IsDir() || mode&0o100 != 0 {
			mode |= 0o111
		}
		return os.Chmod(path, mode)
	})
}

// removeLibraryLog removes the log file that embedded-postgres leaves in the temporary directory, identified by being open in
// this process.
func removeLibraryLog(since time.Time) {
	names, _ := filepath.Glob(filepath.Join(os.TempDir(), "embedded_postgres_log*"))
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil || info.ModTime().Before(since.Add(-time.Second)) {
			continue
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && isOpenHere(stat) {
			_ = os.Remove(name)
		}
	}
}

func isOpenHere(file *syscall.Stat_t) bool {
	for fd := 3; fd < 512; fd++ {
		var open syscall.Stat_t
		if syscall.Fstat(fd, &open) == nil && open.Dev == file.Dev && open.Ino == file.Ino {
			return true
		}
	}
	return false
}

func withoutUser(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return address
	}
	host, path, _ := strings.Cut(rest, "/")
	return strings.TrimSuffix(scheme+"://"+host[strings.LastIndex(host, "@")+1:]+"/"+path, "/")
}
