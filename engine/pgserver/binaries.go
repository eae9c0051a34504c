package pgserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

type binaries struct {
	dir         string
	version     int
	versionText string
}

// binaryPlaces are searched after the PATH, in this order; of several versions of a pattern the newest comes first.
var binaryPlaces = []string{
	"/usr/lib/postgresql/*/bin",                             // Debian, Ubuntu
	"/usr/pgsql-*/bin",                                      // Postgres' packages for Fedora, RHEL, SUSE
	"/usr/libexec/postgresql*",                              // Alpine
	"/usr/lib/postgresql*/bin",                              // SUSE, Gentoo
	"/opt/homebrew/opt/postgresql*/bin",                     // Homebrew on Apple silicon
	"/usr/local/opt/postgresql*/bin",                        // Homebrew on Intel
	"/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",        // Homebrew on Linux
	"/Applications/Postgres.app/Contents/Versions/*/bin",    // Postgres.app
	"/Library/PostgreSQL/*/bin",                             // EDB's installer
	"/usr/local/pgsql/bin",                                  // built from source
	"/opt/postgresql*/bin", "/usr/local/lib/postgresql/bin", // others
}

func findBinaries(ctx context.Context, who *account) (found []binaries, unfit []error) {
	for _, dir := range binaryDirs() {
		b, err := examine(ctx, dir, who)
		if err != nil {
			unfit = append(unfit, err)
			continue
		}
		found = append(found, b)
	}
	return found, unfit
}

func binaryDirs() []string {
	var dirs []string
	add := func(dir string) {
		// A postgres on the PATH may be a link; its companions and libraries are at its target.
		program, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres"))
		if err != nil {
			return
		}
		if info, err := os.Stat(program); err != nil || info.IsDir() || info.Mode().Perm()&0o111 == 0 {
			return
		}
		if dir = filepath.Dir(program); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if filepath.IsAbs(dir) {
			add(dir)
		}
	}
	for _, pattern := range binaryPlaces {
		matches, _ := filepath.Glob(pattern)
		slices.SortFunc(matches, func(a, b string) int { return versionIn(b) - versionIn(a) })
		for _, dir := range matches {
			add(dir)
		}
	}
	return dirs
}

func versionIn(path string) int {
	if i := strings.IndexAny(path, "0123456789"); i >= 0 {
		n, _ := leadingInt(path[i:])
		return n
	}
	return 0
}

func examine(ctx context.Context, dir string, who *account) (binaries, error) {
	if err := who.checkEnter(dir); err != nil {
		return binaries{}, err
	}
	if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
		return binaries{}, fmt.Errorf("%s has postgres but no initdb: install the server package, not a part of it", dir)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version")
	cmd.Dir = "/"
	cmd.Env = serverEnv()
	cmd.SysProcAttr = who.attributes()
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return binaries{}, fmt.Errorf("%s/postgres does not run: %s", dir, oneLine(cmp.Or(string(out), err.Error())))
	}
	_, text, _ := strings.Cut(string(out), ") ") // "postgres (PostgreSQL) 15.18 (Debian ...)"
	b := binaries{dir: dir, versionText: shortVersion(text)}
	number, ok := versionNumber(b.versionText)
	if !ok {
		return binaries{}, fmt.Errorf("%s/postgres gives no version but %q", dir, oneLine(string(out)))
	}
	if b.version = number; number < MinVersion {
		return binaries{}, fmt.Errorf("PostgreSQL %s in %s is too old: version %d or later is needed", b.versionText, dir, MinVersion/10000)
	}
	return b, nil
}

// serverEnv is the environment of Postgres' programs: ours without variables that affect them, and with messages in English,
// which we parse.
func serverEnv() []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return strings.HasPrefix(name, "PG") || strings.HasPrefix(name, "LC_") || name == "LANG" || name == "LANGUAGE" ||
			name == "PULLEY_DSN" || name == "HOME" || name == "NOTIFY_SOCKET"
	})
	return append(env, "LC_ALL=C", "TZ=UTC", "HOME=/")
}

func (o Options) openLocal(ctx context.Context) (*Server, error) {
	who, err := serverAccount()
	if err != nil {
		return nil, err
	}
	found, unfit := findBinaries(ctx, who)
	for _, b := range found {
		s, err := o.openCluster(ctx, WayLocal, b, who)
		if err == nil || ctx.Err() != nil {
			return s, err
		}
		unfit = append(unfit, fmt.Errorf("%s: %w", b.dir, err))
	}
	if len(unfit) == 0 {
		return nil, errors.New("no postgres on the PATH nor where packages put it")
	}
	texts := make([]string, len(unfit))
	for i, err := range unfit {
		texts[i] = err.Error()
	}
	return nil, errors.New(strings.Join(texts, "; "))
}

func howToInstall() string {
	install := "install it with the system's package manager (apt-get install postgresql, dnf install postgresql-server, apk add postgresql)"
	if runtime.GOOS == "darwin" {
		install = "install it (brew install postgresql@17)"
	}
	return install + ", or give a running server with --dsn or PULLEY_DSN"
}
