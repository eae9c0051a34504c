package pgserver

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// MinVersion is the oldest accepted Postgres, as server_version_num.
const MinVersion = 130000

const (
	defaultImage           = "postgres:17"
	defaultDownloadURL     = "https://repo1.maven.org/maven2"
	defaultDownloadVersion = "17.5.0"
	defaultStartTimeout    = time.Minute
	defaultFetchTimeout    = 10 * time.Minute
)

// Way is a way to get a Postgres.
type Way string

// The ways.
const (
	WayDSN      Way = "dsn"      // somebody else's server
	WayLocal    Way = "local"    // binaries on this machine
	WayDocker   Way = "docker"   // a container
	WayDownload Way = "download" // a build fetched from a repository
)

// Ways returns every way, in the order of Open. The caller owns the slice.
func Ways() []Way { return []Way{WayDSN, WayLocal, WayDocker, WayDownload} }

// ParseWay parses a way's name. The error lists the names.
func ParseWay(name string) (Way, error) {
	way := Way(strings.TrimSpace(name))
	if !slices.Contains(Ways(), way) {
		return "", fmt.Errorf("%q is no way to find a Postgres: write dsn, local, docker or download", name)
	}
	return way, nil
}

func (w Way) title() string {
	switch w {
	case WayDSN:
		return "DSN"
	case WayLocal:
		return "local binaries"
	case WayDocker:
		return "Docker"
	case WayDownload:
		return "download"
	default:
		return string(w)
	}
}

// ErrNoPostgres is wrapped by Open's error when every way failed.
var ErrNoPostgres = errors.New("no Postgres could be found or started")

// Options select a Postgres. The zero value tries every way.
type Options struct {
	// DSN names a running server, as a URL or as key=value pairs. Empty: PULLEY_DSN; if that is empty too, the other ways are
	// tried.
	DSN string

	// Schema is the one that will be used on a server given by a DSN. A user who cannot create schemas is accepted where this one
	// exists. Empty: the user must be able to create one.
	Schema string

	// ReadOnly accepts a server given by a DSN that takes no writes, such as a standby.
	ReadOnly bool

	// Ways are tried in this order. Nil means all, in the order of Ways.
	Ways []Way

	// Settings override ours on a server that we start. They do not apply to a server given by a DSN, which is logged.
	Settings map[string]string

	// Log receives one line, without a newline, per event. Nil discards them. Probe may call it concurrently.
	Log func(line string)

	// Image is the container image. Empty: PULLEY_POSTGRES_IMAGE, else the official one.
	Image string

	// DownloadURL is the base of the builds' Maven repository. Empty: PULLEY_POSTGRES_MIRROR, else Maven Central.
	DownloadURL string

	// DownloadVersion is the build to download, such as "17.5.0". Empty: PULLEY_POSTGRES_VERSION, else one known to exist.
	DownloadVersion string

	// CacheDir holds downloaded builds. Empty: the user's cache directory; for root a directory that other accounts can read,
	// because the server does not run as root.
	CacheDir string

	// TempDir is the parent of a server's directory. Empty: TMPDIR, else the system's.
	TempDir string

	// StartTimeout bounds finding, starting and checking a server, per way. Zero: one minute.
	StartTimeout time.Duration

	// FetchTimeout bounds pulling an image or downloading a build. Zero: ten minutes.
	FetchTimeout time.Duration
}

var settingName = regexp.MustCompile(`^[a-z_][a-z0-9_.]*$`)

// ownSettings are fixed: changing them would make a server unreachable, or reachable for others.
var ownSettings = []string{
	"config_file", "data_directory", "hba_file", "ident_file", "listen_addresses", "port",
	"unix_socket_directories", "unix_socket_permissions", "external_pid_file",
}

func (o Options) resolve() (Options, error) {
	o.DSN = cmp.Or(o.DSN, os.Getenv("PULLEY_DSN"))
	o.Image = cmp.Or(o.Image, os.Getenv("PULLEY_POSTGRES_IMAGE"), defaultImage)
	o.DownloadURL = strings.TrimRight(cmp.Or(o.DownloadURL, os.Getenv("PULLEY_POSTGRES_MIRROR"), defaultDownloadURL), "/")
	o.DownloadVersion = cmp.Or(o.DownloadVersion, os.Getenv("PULLEY_POSTGRES_VERSION"), defaultDownloadVersion)
	o.TempDir = cmp.Or(o.TempDir, os.TempDir())
	if o.StartTimeout < 0 || o.FetchTimeout < 0 {
		return o, errors.New("a timeout of pgserver.Options is negative: give a positive duration, or zero for the default")
	}
	o.StartTimeout = cmp.Or(o.StartTimeout, defaultStartTimeout)
	o.FetchTimeout = cmp.Or(o.FetchTimeout, defaultFetchTimeout)
	if o.Log == nil {
		o.Log = func(string) {}
	}
	if o.Ways == nil {
		o.Ways = Ways()
	}
	for _, way := range o.Ways {
		if _, err := ParseWay(string(way)); err != nil {
			return o, err
		}
	}
	return o, validSettings(o.Settings)
}

func validSettings(settings map[string]string) error {
	for name, value := range settings {
		switch {
		case !settingName.MatchString(name):
			return fmt.Errorf("%q is no name of a Postgres setting", name)
		case slices.Contains(ownSettings, name):
			return fmt.Errorf("the setting %s cannot be given: it follows from the way the server is started", name)
		case strings.ContainsAny(value, "\x00\n\r"):
			return fmt.Errorf("the value of the setting %s holds a line break", name)
		}
	}
	return nil
}

func (o Options) logf(format string, args ...any) { o.Log(fmt.Sprintf(format, args...)) }
