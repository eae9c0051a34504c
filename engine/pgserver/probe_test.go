package pgserver

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestProbe(t *testing.T) {
	needBinaries(t)
	e := needEngine(t)
	repo := newRepository(t, nil)
	o := repo.options(t)
	o.Ways, o.StartTimeout = nil, waitsMax
	o.Image = needImage(t, e)
	findings, err := Probe(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		way              Way
		usable, verified bool
	}{{WayDSN, false, false}, {WayLocal, true, true}, {WayDocker, true, true}, {WayDownload, true, false}} {
		f := findings[i]
		if f.Way != want.way || f.Usable != want.usable || f.Verified != want.verified {
			t.Errorf("finding %d is %+v, want %+v", i, f, want)
		}
		if f.Verified != (f.Version >= MinVersion) || f.Verified != (f.Durability.Fsync == "on") {
			t.Errorf("%s: version %d, %s", f.Way, f.Version, f.Durability)
		}
		if f.Usable {
			checkLine(t, f.Found)
		} else {
			checkLine(t, f.Problem)
			checkLine(t, f.Advice)
		}
	}
}

func TestProbeProblems(t *testing.T) {
	needEngine(t)
	fakeBinaries(t, "echo 'postgres (PostgreSQL) 9.6.24'")
	findings, err := Probe(t.Context(), Options{
		DSN: "postgres://me:s3cret@127.0.0.1:1/db", Image: "127.0.0.1:1/none/none:none",
		DownloadURL: "http://me:s3cret@127.0.0.1:1", CacheDir: openDir(t), StartTimeout: waitsMax,
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, part := range []string{"nothing listens", "too old", "cannot be pulled", "cannot be reached"} {
		f := findings[i]
		if f.Usable || f.Verified || !strings.Contains(f.Problem, part) {
			t.Errorf("%s: %+v does not say %q", f.Way, f, part)
		}
		checkLine(t, f.Problem)
		checkLine(t, f.Advice)
		text, err := json.Marshal(f)
		if err != nil || strings.Contains(string(text), "s3cret") {
			t.Errorf("%v, or it gives the password away: %s", err, text)
		}
	}
}
