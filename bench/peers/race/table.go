package race

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Markdown formats the record for a page: the figures, the ratios, the method, and the differences between the systems.
func (r *Record) Markdown() string {
	var b strings.Builder
	r.writeHead(&b)
	r.writeRows(&b)
	r.writeRatios(&b)
	r.writeSystems(&b)
	return b.String()
}

func (r *Record) writeHead(b *strings.Builder) {
	settings := []string{}
	for _, name := range []string{"fsync", "synchronous_commit", "full_page_writes", "shared_buffers", "max_wal_size"} {
		if v := r.Postgres.Setting(name); v != "" {
			settings = append(settings, name+" "+v)
		}
	}
	fmt.Fprintf(b, "%s, %d cores, %s/%s, %s; Postgres %s (%s).\n", cmp.Or(r.Host.CPU, "an unknown processor"), r.Host.Cores,
		r.Host.OS, r.Host.Arch, r.Tool.Go, firstWords(r.Postgres.Version), strings.Join(settings, ", "))
	changed := ""
	if r.Tool.Modified {
		changed = ", with changes"
	}
	fmt.Fprintf(b, "%s, revision %s%s; %d runs of about %v each, in turn (%s), %d instances in flight unless said, payloads of %d bytes, every result checked.\n",
		r.StartedAt.UTC().Format("2006-01-02"), cmp.Or(short(r.Tool.Revision), "unknown"), changed, r.Runs, time.Duration(r.RunForNS), r.Order, r.InFlight, r.PayloadBytes)
	if r.Interrupted {
		b.WriteString("The race was interrupted: what is missing was not run.\n")
	}
	if len(r.Command) > 0 {
		fmt.Fprintf(b, "\n```\n%s\n```\n", strings.Join(r.Command, " "))
	}
}

func (r *Record) writeRows(b *strings.Builder) {
	b.WriteString("\n| workload | system | tasks/s | of runs | in flight | instance p50 ms | p99 ms | commits/task | WAL kB/task |\n")
	b.WriteString("|---|---|---:|---|---:|---:|---:|---:|---:|\n")
	for _, row := range r.Rows {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %d | %s | %s | %s | %s |\n", row.Workload, row.System, figure(row.TasksPerS, 1), spread(row), row.InFlight,
			figure(row.LatencyP50NS, 1e-6), figure(row.LatencyP99NS, 1e-6), figure(row.CommitsPerTask, 1), figure(row.WALBytesPerTask, 1e-3))
	}
}

// spread formats the number of runs and their range.
func spread(row Row) string {
	text := fmt.Sprintf("%d", row.Runs)
	if row.Runs > 1 {
		text += fmt.Sprintf(": %s–%s", figure(row.TasksPerSLeast, 1), figure(row.TasksPerSMost, 1))
	}
	if row.Invalid > 0 {
		text += fmt.Sprintf(", %d INVALID", row.Invalid)
	}
	return text
}

func (r *Record) writeRatios(b *strings.Builder) {
	if len(r.Ratios) == 0 {
		return
	}
	b.WriteString("\n| ratio of tasks/s | value | of runs | target |\n|---|---:|---|---|\n")
	for _, ratio := range r.Ratios {
		target := ""
		switch {
		case ratio.Met != nil && *ratio.Met:
			target = fmt.Sprintf("≥ %g: met", *ratio.Target)
		case ratio.Met != nil:
			target = fmt.Sprintf("≥ %g: missed", *ratio.Target)
		case ratio.Target != nil:
			target = fmt.Sprintf("≥ %g: not measured", *ratio.Target)
		}
		runs := fmt.Sprintf("%d", ratio.Pairs)
		if ratio.Pairs > 1 {
			runs += fmt.Sprintf(": %s–%s", figure(ratio.Least, 1), figure(ratio.Most, 1))
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", ratio.Name, figure(ratio.Value, 1), runs, target)
	}
}

func (r *Record) writeSystems(b *strings.Builder) {
	b.WriteString("\n")
	told := map[string]bool{} // systems with any settings
	for _, s := range r.Systems {
		var versions []string
		for _, m := range s.Versions {
			versions = append(versions, m.Path+" "+m.Version)
		}
		fmt.Fprintf(b, "- **%s**", s.Name)
		if name, _, _ := strings.Cut(s.Name, ":"); !told[name] {
			told[name] = true
			fmt.Fprintf(b, " (%s; %s), on %s.", s.Title, strings.Join(versions, ", "), s.Store)
			for _, key := range slices.Sorted(maps.Keys(s.Notes)) {
				fmt.Fprintf(b, " %s.", sentence(key, s.Notes[key]))
			}
		}
		for _, group := range settingGroups(r, s) {
			fmt.Fprintf(b, " %s.", group)
		}
		for _, w := range r.Workloads {
			if why := s.NotRun[w.Name]; why != "" {
				fmt.Fprintf(b, " Not run: %s, %s.", w.Name, why)
			}
		}
		b.WriteString("\n")
	}
	for _, s := range r.Samples {
		if !s.Valid {
			fmt.Fprintf(b, "- INVALID: %s on %s, run %d: %s\n", s.Workload, s.System, s.Run, strings.Join(s.Warnings, "; "))
		}
	}
}

func settingGroups(r *Record, s System) []string {
	var order []string
	workloads := map[string][]string{}
	for _, w := range r.Workloads {
		text := s.Settings[w.Name].String()
		if text == "" {
			continue
		}
		if workloads[text] == nil {
			order = append(order, text)
		}
		workloads[text] = append(workloads[text], w.Name)
	}
	out := []string{}
	for _, text := range order {
		out = append(out, fmt.Sprintf("Settings for %s: %s", strings.Join(workloads[text], ", "), text))
	}
	return out
}

func sentence(workload, note string) string {
	if workload == "" {
		return strings.ToUpper(note[:1]) + note[1:]
	}
	return strings.ToUpper(workload[:1]) + workload[1:] + ": " + note
}

// figure formats a number with three significant digits; a dash for an unknown one.
func figure(value *float64, scale float64) string {
	if value == nil {
		return "–"
	}
	switch v := *value * scale; {
	case v >= 1000:
		whole := fmt.Sprintf("%.0f", v)
		for i := len(whole) - 3; i > 0; i -= 3 {
			whole = whole[:i] + "," + whole[i:]
		}
		return whole
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v >= 1:
		return fmt.Sprintf("%.2f", v)
	case v >= 0.0005:
		return fmt.Sprintf("%.3f", v)
	default:
		return "0"
	}
}

func milliseconds(ns int64) string {
	v := float64(ns)
	return figure(&v, 1e-6)
}

func firstWords(version string) string {
	words := strings.Fields(strings.TrimPrefix(version, "PostgreSQL "))
	if len(words) == 0 {
		return "of unknown version"
	}
	return words[0]
}

func short(revision string) string { return revision[:min(len(revision), 12)] }
