package pgserver

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

func setting(t *testing.T, dsn, name string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	var value string
	if err := conn.QueryRow(t.Context(), "SELECT current_setting($1)", name).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestOptionsAreRefused(t *testing.T) {
	for name, o := range map[string]Options{
		"unknown way":        {Ways: []Way{"telepathy"}},
		"negative timeout":   {StartTimeout: -1},
		"name of a setting":  {Settings: map[string]string{"fsync = off; x": "on"}},
		"our own setting":    {Settings: map[string]string{"listen_addresses": "*"}},
		"value with newline": {Settings: map[string]string{"work_mem": "1MB\nfsync = off"}},
	} {
		s, err := Open(t.Context(), o)
		if err == nil {
			_ = s.Close(t.Context())
			t.Errorf("%s: accepted", name)
			continue
		}
		checkLine(t, err.Error())
		if _, err := Probe(t.Context(), o); err == nil {
			t.Errorf("%s: Probe accepts it", name)
		}
	}
}

func checkLine(t *testing.T, text string) {
	t.Helper()
	if text == "" || strings.ContainsAny(text, "\n\r") || strings.Contains(text, "goroutine ") {
		t.Errorf("not one clear line: %q", text)
	}
}

func TestParseWay(t *testing.T) {
	for _, way := range Ways() {
		if got, err := ParseWay(" " + string(way)); err != nil || got != way {
			t.Errorf("%s: %v, %v", way, got, err)
		}
	}
	if _, err := ParseWay("luck"); err == nil {
		t.Error("luck is a way")
	}
}

// TestSettingsReachServer checks that the user's settings reach the server, override ours, and yield to ALTER SYSTEM.
func TestSettingsReachServer(t *testing.T) {
	t.Parallel()
	needBinaries(t)
	s := openTest(t, Options{Ways: []Way{WayLocal}, Settings: map[string]string{
		"synchronous_commit": "off",
		"application_name":   `it's a \ test`,
		"autovacuum":         "off",
	}})
	for name, want := range map[string]string{
		"autovacuum": "off", "max_connections": "200", "checkpoint_timeout": "30min", "fsync": "on",
	} {
		if got := setting(t, s.DSN(), name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if weak := s.Durability().Weakness(); weak != "synchronous_commit is off" {
		t.Errorf("the weakness is %q", weak)
	}
	execSQL(t, s.DSN(), "ALTER SYSTEM SET autovacuum = on")
	execSQL(t, s.DSN(), "SELECT pg_reload_conf()")
	eventually(t, "ALTER SYSTEM has an effect", func() bool { return setting(t, s.DSN(), "autovacuum") == "on" })
}

func TestUnknownSetting(t *testing.T) {
	t.Parallel()
	needBinaries(t)
	dir := openDir(t)
	_, err := Open(t.Context(), Options{Ways: []Way{WayLocal}, TempDir: dir, Settings: map[string]string{"no_such_setting": "1"}})
	if err == nil {
		t.Fatal("accepted")
	}
	checkLine(t, err.Error())
	if !strings.Contains(err.Error(), "no_such_setting") {
		t.Errorf("the setting is not named: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("the failed start left %v", left)
	}
}

func TestSettingsText(t *testing.T) {
	got := configFile(map[string]string{"b": `it's`, "a": `back\slash`})
	if want := "a = 'back\\\\slash'\nb = 'it''s'\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := commandLine(map[string]string{"b": "2 x", "a": "1"}); !slices.Equal(got, []string{"-c", "a=1", "-c", "b=2 x"}) {
		t.Errorf("got %q", got)
	}
	without := withoutStatementStats(map[string]string{
		preloadSetting: "auto_explain, pg_stat_statements", "pg_stat_statements.max": "1", "fsync": "on",
	})
	if len(without) != 2 || without[preloadSetting] != "auto_explain" || without["fsync"] != "on" {
		t.Errorf("got %v", without)
	}
	if s := (Options{}).serverSettings(130000, 1); s["track_wal_io_timing"] != "" || s["fsync"] != "on" {
		t.Errorf("version 13 gets %v", s)
	}
}

func TestWALRoom(t *testing.T) {
	for free, want := range map[uint64]int{0: 256, 1 << 30: 256, 8 << 30: 2048, 1 << 40: 8192, ^uint64(0): 8192} {
		if got := walRoom(free); got != want {
			t.Errorf("%d free bytes give %d MB, want %d", free, got, want)
		}
	}
}

func TestVersionNumber(t *testing.T) {
	for text, want := range map[string]int{
		"15.18": 150018, "15.18 (Debian 15.18-0+deb12u1)": 150018, "17": 170000, "18beta1": 180000, "17.5.0": 170005,
		"9.6.24": 90624, "9.5": 90500, "16rc2": 160000, "": 0, "devel": 0,
	} {
		if got, ok := versionNumber(shortVersion(text)); got != want || ok != (want != 0) {
			t.Errorf("%q is %d, %v; want %d", text, got, ok, want)
		}
	}
}

func fakeBinaries(t *testing.T, prints string) string {
	t.Helper()
	dir := openDir(t)
	script := "#!/bin/sh\n" + prints + "\n"
	for _, name := range []string{"postgres", "initdb"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	places := binaryPlaces
	t.Cleanup(func() { binaryPlaces = places })
	binaryPlaces = nil
	return dir
}

func TestUnfitBinaries(t *testing.T) {
	for name, test := range map[string]struct{ prints, says string }{
		"too old":    {"echo 'postgres (PostgreSQL) 9.6.24'", "PostgreSQL 9.6.24 in"},
		"broken":     {"echo 'libpq.so.5: cannot open shared object file' >&2; exit 127", "libpq.so.5"},
		"no version": {"echo hello", `"hello"`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := fakeBinaries(t, test.prints)
			_, err := Open(t.Context(), Options{Ways: []Way{WayLocal}})
			if !errors.Is(err, ErrNoPostgres) {
				t.Fatalf("got %v", err)
			}
			checkLine(t, err.Error())
			if !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), dir) {
				t.Errorf("it says %q, not %q and %q", err, test.says, dir)
			}
		})
	}
}

// TestBinaryOrder checks that a postgres on the PATH comes before those in the usual places, of which the newest comes first.
func TestBinaryOrder(t *testing.T) {
	root := t.TempDir()
	touch := func(dir string) string {
		dir = filepath.Join(root, dir)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "postgres"), nil, 0o755); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	nine, seventeen, onPath := touch("pg/9/bin"), touch("pg/17/bin"), touch("path")
	link := filepath.Join(root, "linked")
	if err := os.Mkdir(link, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(nine, "postgres"), filepath.Join(link, "postgres")); err != nil {
		t.Fatal(err)
	}
	places := binaryPlaces
	t.Cleanup(func() { binaryPlaces = places })
	binaryPlaces = []string{filepath.Join(root, "pg/*/bin")}
	t.Setenv("PATH", "relative:"+onPath+":"+filepath.Join(root, "missing"))
	if got := binaryDirs(); !slices.Equal(got, []string{onPath, seventeen, nine}) {
		t.Errorf("got %q", got)
	}
	t.Setenv("PATH", link) // a link counts as its target
	if got := binaryDirs(); !slices.Equal(got, []string{nine, seventeen}) {
		t.Errorf("got %q", got)
	}
}

func TestNoWayAtAll(t *testing.T) {
	c := startChild(t, selfAs(t, nil), childNoWay, nil, "PATH="+t.TempDir(), "HOME="+t.TempDir(),
		"DOCKER_HOST=tcp://127.0.0.1:1", "PULLEY_POSTGRES_IMAGE=127.0.0.1:1/none:none", "PULLEY_POSTGRES_MIRROR=http://user:s3cr3t@127.0.0.1:1")
	checkLine(t, c.Err)
	for _, part := range []string{"DSN: none given", "local binaries: no postgres", "; Docker: ", "download: http://127.0.0.1:1 cannot be reached", "PULLEY_DSN"} {
		if !strings.Contains(c.Err, part) {
			t.Errorf("%q is missing in %q", part, c.Err)
		}
	}
	if strings.Contains(c.Err, "s3cr3t") {
		t.Errorf("it gives the password away: %q", c.Err)
	}
}

func TestFailureIn(t *testing.T) {
	for output, want := range map[string]string{
		"x LOG:  fine\n":                   "x LOG: fine",
		"":                                 "other",
		"LOG: a\n2024 FATAL:  could not\n": "could not",
		"initdb: error: no\ninitdb: hint: do it\n":                                                       "no; do it",
		"LOG:  starting\nLOG:  unrecognized configuration parameter \"x\"\nFATAL:  file contains errors": "unrecognized configuration parameter \"x\"; file contains errors",
		"FATAL:  the database system is starting up\nFATAL:  real\n":                                     "real",
		"PANIC:  could not write: No space left on device":                                               "could not write: No space left on device; the disk is full: free some room, or set TMPDIR to a directory with more",
	} {
		if got := failureIn(output, "other"); got != want {
			t.Errorf("%q gives %q, want %q", output, got, want)
		}
	}
}

func TestWithoutUser(t *testing.T) {
	for address, want := range map[string]string{
		"https://repo/maven2":           "https://repo/maven2",
		"https://me:secret@repo/maven2": "https://repo/maven2",
		"http://me:p@ss@repo":           "http://repo",
		"not a url":                     "not a url",
	} {
		if got := withoutUser(address); got != want {
			t.Errorf("%q gives %q, want %q", address, got, want)
		}
	}
}
