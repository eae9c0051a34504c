package pgserver

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const testBuildVersion = "15.99.0"

type repository struct {
	*httptest.Server
	archive []byte
	sums    map[string]string // suffix → text; a suffix that is missing is not found
	fetched atomic.Int32      // how often the archive was sent
}

func newRepository(t *testing.T, archive []byte) *repository {
	t.Helper()
	r := &repository{archive: archive, sums: map[string]string{}}
	strong := sha256.Sum256(archive)
	weak := sha1.Sum(archive)
	r.sums[".sha256"] = hex.EncodeToString(strong[:]) + "  build.jar\n"
	r.sums[".sha1"] = hex.EncodeToString(weak[:])
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ext := filepath.Ext(req.URL.Path)
		switch {
		case !strings.Contains(req.URL.Path, testBuildVersion):
			http.NotFound(w, req)
		case ext == ".jar":
			if req.Method == http.MethodGet {
				r.fetched.Add(1)
			}
			_, _ = w.Write(r.archive)
		case r.sums[ext] != "":
			_, _ = io.WriteString(w, r.sums[ext])
		default:
			http.NotFound(w, req)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *repository) options(t *testing.T) Options {
	t.Setenv("TMPDIR", openDir(t))
	return Options{Ways: []Way{WayDownload}, DownloadURL: r.URL + "/", DownloadVersion: testBuildVersion, CacheDir: openDir(t), StartTimeout: waitsMax}
}

// machineBuild is an archive of this machine's own Postgres, laid out as the library expects. Except for the system's libraries
// it is complete, but lacks pg_stat_statements.
var machineBuild = sync.OnceValues(func() ([]byte, error) {
	who, err := serverAccount()
	if err != nil {
		return nil, err
	}
	found, _ := findBinaries(context.Background(), who)
	if len(found) == 0 {
		return nil, errors.New("there are no binaries of a Postgres")
	}
	var files bytes.Buffer
	if err := writeBuild(tar.NewWriter(&files), found[0].dir); err != nil {
		return nil, err
	}
	return jar("postgres.txz", xzStored(files.Bytes())), nil
})

// writeBuild puts the programs under their own path, where they find their files, with links to them in bin/, where the library
// expects them.
func writeBuild(archive *tar.Writer, bin string) error {
	prefix := "usr" + strings.TrimPrefix(bin, "/usr")
	for _, name := range []string{"postgres", "initdb", "pg_ctl"} {
		if err := addTree(archive, filepath.Join(bin, name), prefix+"/"+name, nil); err != nil {
			return err
		}
		link := &tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + name, Linkname: "../" + prefix + "/" + name, Mode: 0o777}
		if err := archive.WriteHeader(link); err != nil {
			return err
		}
	}
	for question, skip := range map[string][]string{
		"--pkglibdir": {"bitcode", "llvm", "pgxs", "pg_stat_statements"},
		"--sharedir":  {"man", "pg_stat_statements"},
	} {
		out, err := exec.Command(filepath.Join(bin, "pg_config"), question).Output()
		if err != nil {
			return fmt.Errorf("pg_config %s: %w", question, err)
		}
		dir := strings.TrimSpace(string(out))
		if err := addTree(archive, dir, "usr"+strings.TrimPrefix(dir, "/usr"), skip); err != nil {
			return err
		}
	}
	return archive.Close()
}

func addTree(archive *tar.Writer, from, to string, skip []string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		for _, prefix := range skip {
			if strings.HasPrefix(entry.Name(), prefix) && path != from {
				if entry.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
		}
		info, err := os.Stat(path) // a link becomes what it points to
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		// Closed to others: our code must let the server's account in.
		header := &tar.Header{Typeflag: tar.TypeReg, Name: to + strings.TrimPrefix(path, from), Mode: int64(info.Mode().Perm() & 0o700), Size: int64(len(content))}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		_, err = archive.Write(content)
		return err
	})
}

func jar(name string, content []byte) []byte {
	var file bytes.Buffer
	w := zip.NewWriter(&file)
	entry, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
	if err == nil {
		_, err = entry.Write(content)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		panic(err) // writing to memory
	}
	return file.Bytes()
}

// xzStored wraps content in the xz format without compression, because no xz writer is available: one block of LZMA2 chunks,
// checked by CRC-32.
func xzStored(content []byte) []byte {
	crc := func(p []byte) []byte { return binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(p)) }
	pad := func(p []byte) []byte { return append(p, make([]byte, (4-len(p)%4)%4)...) }
	varint := func(p []byte, n uint64) []byte { return binary.AppendUvarint(p, n) }

	flags := []byte{0, 1} // the check is a CRC-32
	out := append([]byte{0xfd, '7', 'z', 'X', 'Z', 0}, flags...)
	out = append(out, crc(flags)...)

	header := []byte{2, 0, 0x21, 1, 22, 0, 0, 0} // 12 bytes long; one filter: LZMA2, a dictionary of 8 MiB
	block := append(header, crc(header)...)
	for i := 0; i < len(content); i += 1 << 16 {
		chunk := content[i:min(i+1<<16, len(content))]
		control := byte(2)
		if i == 0 {
			control = 1 // resets the dictionary
		}
		block = append(block, control, byte((len(chunk)-1)>>8), byte(len(chunk)-1))
		block = append(block, chunk...)
	}
	block = append(block, 0)
	unpadded := uint64(len(block) + 4)
	out = append(out, pad(block)...)
	out = append(out, crc(content)...)

	index := pad(varint(varint(varint([]byte{0}, 1), unpadded), uint64(len(content))))
	index = append(index, crc(index)...)
	out = append(out, index...)
	footer := append(binary.LittleEndian.AppendUint32(nil, uint32(len(index)/4-1)), flags...)
	return append(append(append(out, crc(footer)...), footer...), 'Y', 'Z')
}

func TestDownload(t *testing.T) {
	needBinaries(t)
	archive, err := machineBuild()
	need(t, err, "binaries that can be packed")
	repo := newRepository(t, archive)
	o := repo.options(t)
	var lines []string
	o.Log = func(line string) { lines = append(lines, line) }

	before, err := Probe(t.Context(), o)
	if err != nil || !before[0].Usable || before[0].Verified || repo.fetched.Load() != 0 {
		t.Errorf("before: %+v, %v; the archive was fetched %d times", before, err, repo.fetched.Load())
	}
	for range 2 {
		s := openTest(t, o)
		if weak := s.Durability().Weakness(); weak != "" || s.Way() != WayDownload {
			t.Errorf("weakness %q, way %s", weak, s.Way())
		}
		execSQL(t, s.DSN(), "CREATE SCHEMA works")
		if s.HasStatementStats() {
			t.Error("it has pg_stat_statements, which the build lacks")
		}
		cached := buildDir(o.CacheDir, testBuildVersion)
		if real, err := filepath.EvalSymlinks(cached); err != nil || !strings.HasPrefix(s.cluster.bin.dir, real) {
			t.Errorf("it runs from %s, not from the cache %s: %v", s.cluster.bin.dir, cached, err)
		}
	}
	if n := repo.fetched.Load(); n != 1 {
		t.Errorf("the archive was fetched %d times", n)
	}
	text := strings.Join(lines, "\n")
	for _, part := range []string{"fetching PostgreSQL " + testBuildVersion + " from " + repo.URL, "statement counters will be missing"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not said:\n%s", part, text)
		}
	}
	after, err := Probe(t.Context(), o)
	if err != nil || !after[0].Verified || after[0].Version < MinVersion {
		t.Errorf("after: %+v, %v", after, err)
	}
	checkNoScratch(t, o.CacheDir)
}

func checkNoScratch(t *testing.T, cache string) {
	t.Helper()
	for _, pattern := range []string{cache + "/" + scratchPrefix + "*", os.TempDir() + "/embedded_postgres_log*", os.TempDir() + "/" + runDirPrefix + "ask-*"} {
		if left, _ := filepath.Glob(pattern); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	}
}

func smallBuild(t *testing.T, files ...string) []byte {
	t.Helper()
	var content bytes.Buffer
	w := tar.NewWriter(&content)
	for _, name := range files {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o700, Size: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return jar("p.txz", xzStored(content.Bytes()))
}

func TestUnfitDownloads(t *testing.T) {
	good := smallBuild(t, "bin/postgres")
	for name, test := range map[string]struct {
		archive []byte
		change  func(*repository, *Options)
		says    string
	}{
		"wrong checksum":      {good, func(r *repository, _ *Options) { r.sums[".sha256"] = strings.Repeat("0", 64) }, "is damaged"},
		"wrong weak checksum": {good, func(r *repository, _ *Options) { delete(r.sums, ".sha256"); r.sums[".sha1"] = "0" }, "is damaged"},
		"no such version":     {good, func(_ *repository, o *Options) { o.DownloadVersion = "1.2.3" }, "has no build"},
		"bad version":         {good, func(_ *repository, o *Options) { o.DownloadVersion = "../../etc" }, "is no version"},
		"bad address":         {good, func(_ *repository, o *Options) { o.DownloadURL = "http://me:s3cret@host:port" }, "no address of a repository"},
		"nothing there":       {good, func(r *repository, _ *Options) { r.Close() }, "cannot be reached"},
		"not an archive":      {[]byte("<html>"), nil, "cannot be unpacked"},
		"nothing in it":       {jar("readme.txt", nil), nil, "cannot be unpacked"},
		"damaged inside":      {jar("p.txz", []byte("not xz")), nil, "cannot be unpacked"},
		"no server in it":     {smallBuild(t, "bin/pg_ctl"), nil, "cannot be unpacked"},
		"does not run":        {smallBuild(t, "bin/postgres", "bin/initdb"), nil, "cannot be used"},
	} {
		t.Run(name, func(t *testing.T) {
			repo := newRepository(t, test.archive)
			o := repo.options(t)
			if test.change != nil {
				test.change(repo, &o)
			}
			s, err := Open(t.Context(), o)
			if err == nil {
				_ = s.Close(t.Context())
				t.Fatal("accepted")
			}
			checkLine(t, err.Error())
			if !errors.Is(err, ErrNoPostgres) || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("it says %q, not %q", err, test.says)
			}
			checkNoScratch(t, o.CacheDir)
			if name != "does not run" && hasBuild(buildDir(o.CacheDir, testBuildVersion)) {
				t.Error("the cache keeps it")
			}
		})
	}
}

func TestChecksums(t *testing.T) {
	repo := newRepository(t, []byte("archive"))
	var lines []string
	check := func(base string) error {
		r, err := startRelay(t.Context(), base, func(line string) { lines = append(lines, line) })
		if err != nil {
			t.Fatal(err)
		}
		defer r.stop()
		return r.verify("/"+testBuildVersion+"/a.jar", []byte("archive"))
	}
	if err := check(repo.URL); err != nil {
		t.Errorf("the strong one: %v", err)
	}
	delete(repo.sums, ".sha256")
	if err := check(repo.URL); err != nil || len(lines) != 0 {
		t.Errorf("the weak one: %v, %q", err, lines)
	}
	delete(repo.sums, ".sha1")
	if err := check(repo.URL); err != nil || len(lines) != 1 || !strings.Contains(lines[0], "no checksum") {
		t.Errorf("none: %v, %q", err, lines)
	}
}

func TestDownloadEnds(t *testing.T) {
	asked, release := make(chan struct{}, 8), make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-release
	}))
	t.Cleanup(func() {
		close(release)
		silent.Close()
	})
	t.Setenv("TMPDIR", openDir(t))
	o := Options{Ways: []Way{WayDownload}, DownloadURL: silent.URL, CacheDir: openDir(t)}
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-asked
		cancel(errors.New("the user lost patience"))
	}()
	_, err := Open(ctx, o)
	if err == nil || !strings.Contains(err.Error(), "lost patience") {
		t.Errorf("cancelled: %v", err)
	}
	o.FetchTimeout = 100 * time.Millisecond
	_, err = Open(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "not done within") {
		t.Errorf("timed out: %v", err)
	}
	checkNoScratch(t, o.CacheDir)
}

// TestCacheLock checks that other processes wait for the one that fetches, until their time is over.
func TestCacheLock(t *testing.T) {
	dir := t.TempDir()
	unlock, err := lockCache(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := lockCache(ctx, dir); err == nil {
		t.Fatal("locked twice")
	}
	unlock()
	again, err := lockCache(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	again()
}

func TestBuildAddress(t *testing.T) {
	o, err := Options{DownloadVersion: testBuildVersion}.resolve()
	if err != nil {
		t.Fatal(err)
	}
	address, err := o.buildAddress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(address, "-"+testBuildVersion+".jar") || !strings.Contains(address, runtime.GOOS) {
		t.Errorf("the address is %q", address)
	}
}
