package bench

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pulley/bench/measure"
	"pulley/reports/record"
)

// Write writes manifest.json, summary.json, samples.ndjson and the histograms into a directory, which it creates if needed.
// Each file appears whole or not at all.
func (c *Comparison) Write(dir string) error {
	if err := record.WriteManifest(dir, c.Manifest); err != nil {
		return err
	}
	if err := record.WriteSummary(dir, c.Summary); err != nil {
		return err
	}
	if err := record.WriteSamples(dir, c.Manifest.Samples); err != nil {
		return err
	}
	for name, hists := range map[string][]measure.Tagged{"hop.hlog": c.hops, "instance.hlog": c.spans} {
		err := record.WriteFile(filepath.Join(dir, name), func(w io.Writer) error {
			return measure.WriteHLog(w, nil, slices.Values(hists))
		})
		if err != nil {
			return err
		}
	}
	return c.writeProfiles(dir)
}

const profilePattern = "cpu-*.pb.gz"

// Files of an earlier comparison are removed.
func (c *Comparison) writeProfiles(dir string) error {
	old, err := filepath.Glob(filepath.Join(dir, profilePattern))
	if err != nil {
		return err
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	for key, p := range c.profiles {
		name := strings.Replace(profilePattern, "*", strings.NewReplacer("/", "-", ":", "-", "=", "-", " ", "-").Replace(key.String()), 1)
		if err := record.WriteFile(filepath.Join(dir, name), p.Write); err != nil {
			return err
		}
	}
	return nil
}

// Valid reports whether every run was valid.
func (c *Comparison) Valid() bool {
	return !slices.ContainsFunc(c.Manifest.Samples, func(s record.Sample) bool { return !s.Valid })
}
