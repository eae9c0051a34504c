package reports

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pulley/bench/claim"
	"pulley/bench/gate"
	"pulley/bench/history"
	"pulley/internal/cause"
	"pulley/reports/changes"
	"pulley/reports/page"
	"pulley/reports/record"
	"pulley/reports/verdicts"
)

// opener lays out the report on the record in a folder.
type opener struct {
	// kind is the command that writes such records.
	kind string
	// files are those of the record, if they are there. The folder is known by the first; marks are others that tell it, too.
	files []string
	marks []string
	open  func(dir string, files []page.File) (*page.Page, error)
}

// openers are in the order in which a folder is looked at: what chaos and sim write has names that others have, too.
func openers() []opener {
	return []opener{
		{"compare", []string{record.SummaryFile, record.ManifestFile, record.HopFile, record.InstanceFile, record.SamplesFile}, nil, openCompare},
		{"bench", []string{record.LoadFile}, nil, openLoad},
		{"knee", []string{record.KneeFile}, nil, openKnees},
		{"gate", []string{GateFile, "gate.txt"}, nil, openGate},
		{"chaos", []string{record.ChaosFile, record.ChaosResultFile, record.SimCaseFile}, []string{record.ChaosResultFile}, openChaos},
		{"sim", []string{record.SimFile, record.SimCaseFile, record.SimStepsFile, record.SimDrawingFile, record.SimCoverageFile}, []string{record.SimCoverageFile}, openSim},
		{"forecast", []string{record.ForecastFile, record.ScheduleFile, record.GanttFile}, nil, openForecast},
		{"night", []string{record.NightFile}, nil, openNight},
		{"ceiling", []string{record.CeilingFile}, nil, openCeilings},
		{"claims", []string{claim.FileName, "claims.txt"}, nil, openClaims},
		{"history", historyFiles, historyFiles, openHistory},
	}
}

// Kinds are the records that Open reads: a command, and the file by which its folder is known.
func Kinds() []string {
	var out []string
	for _, o := range openers() {
		out = append(out, o.kind+" ("+o.files[0]+")")
	}
	return out
}

// Open lays out the report on the record in dir, whatever wrote it. The page carries the record's files.
func Open(dir string) (*page.Page, error) {
	if info, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, cause.Of(err))
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s is no folder: name the folder that a command wrote with --out", dir)
	}
	for _, o := range openers() {
		if o.known(func(name string) bool { return exists(dir, name) }) {
			return o.read(dir)
		}
	}
	return nil, fmt.Errorf("%s holds no record; there are those of %s", dir, strings.Join(Kinds(), ", "))
}

func (o *opener) known(has func(file string) bool) bool {
	return slices.ContainsFunc(append([]string{o.files[0]}, o.marks...), has)
}

func exists(dir, name string) bool {
	_, err := os.Lstat(filepath.Join(dir, name))
	return err == nil
}

func (o *opener) read(dir string) (*page.Page, error) {
	files, err := readFiles(dir, o.files)
	if err != nil {
		return nil, err
	}
	return o.open(dir, files)
}

// Write writes report.html into a folder that has a record of that kind, and returns where it is.
func Write(kind, dir string) (string, error) {
	for _, o := range openers() {
		if o.kind != kind || !o.known(func(name string) bool { return exists(dir, name) }) {
			continue
		}
		p, err := o.read(dir)
		if err != nil {
			return "", err
		}
		path := filepath.Join(dir, record.ReportFile)
		return path, record.WriteFile(path, p.WriteHTML)
	}
	return "", fmt.Errorf("%s holds no record of %s", dir, kind)
}

// RecordMost bounds the bytes of the files that a page carries, so that it can be sent and opened; a record beyond that stays in its folder.
const RecordMost = 24 << 20

// readFiles returns those that exist, in order. A file that would make them too many bytes is left out.
func readFiles(dir string, names []string) ([]page.File, error) {
	var out []page.File
	total := int64(0)
	for _, name := range names {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if errors.Is(err, os.ErrNotExist) || err == nil && (!info.Mode().IsRegular() || total+info.Size() > RecordMost) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, cause.Of(err))
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, cause.Of(err))
		}
		total += int64(len(data))
		out = append(out, page.File{Name: name, Data: data})
	}
	return out, nil
}

// dataOf returns a file of a record, or nil.
func dataOf(files []page.File, name string) []byte {
	for _, f := range files {
		if f.Name == name {
			return f.Data
		}
	}
	return nil
}

// without returns the files but those of these names.
func without(files []page.File, names ...string) []page.File {
	var out []page.File
next:
	for _, f := range files {
		for _, name := range names {
			if f.Name == name {
				continue next
			}
		}
		out = append(out, f)
	}
	return out
}

func openCompare(dir string, files []page.File) (*page.Page, error) {
	s, err := record.ReadSummary(filepath.Join(dir, record.SummaryFile))
	if err != nil {
		return nil, err
	}
	m, err := record.ReadManifest(filepath.Join(dir, record.ManifestFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return Compare(s, m, files...), nil
}

func openLoad(dir string, files []page.File) (*page.Page, error) {
	l, err := record.ReadLoad(filepath.Join(dir, record.LoadFile))
	if err != nil {
		return nil, err
	}
	return Load(l, files...), nil
}

// KindOf returns which command wrote a record into a folder, and the files that Open would read, of those that the folder has.
// The kind is empty if Open would find no record.
func KindOf(has func(file string) bool) (kind string, files []string) {
	for _, o := range openers() {
		if !o.known(has) {
			continue
		}
		for _, name := range o.files {
			if has(name) {
				files = append(files, name)
			}
		}
		return o.kind, files
	}
	return "", nil
}

func openKnees(dir string, files []page.File) (*page.Page, error) {
	r, err := record.ReadKnees(filepath.Join(dir, record.KneeFile))
	if err != nil {
		return nil, err
	}
	return Knees(r, files...), nil
}

// GateFile is the file of a gate's decision.
const GateFile = "gate.json"

func openGate(dir string, files []page.File) (*page.Page, error) {
	path, data := filepath.Join(dir, GateFile), dataOf(files, GateFile)
	var r struct {
		gate.Report
		Results json.RawMessage `json:"results"` // of a test of itself
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("read %s: is not what pulley gate writes: %w", path, err)
	}
	if r.Results != nil {
		var s gate.SelfTest
		if err := json.Unmarshal(data, &s); err != nil {
			return nil, fmt.Errorf("read %s: is not what pulley gate --self-test writes: %w", path, err)
		}
		return changes.SelfTest(&s, files...), nil
	}
	if r.Outcome == "" || r.Lines == nil {
		return nil, fmt.Errorf("read %s: it has no outcome", path)
	}
	return changes.Gate(&r.Report, files...), nil
}

func openCeilings(dir string, files []page.File) (*page.Page, error) {
	r, err := record.ReadCeilings(filepath.Join(dir, record.CeilingFile))
	if err != nil {
		return nil, err
	}
	return Ceilings(r, files...), nil
}

func openClaims(dir string, files []page.File) (*page.Page, error) {
	path := filepath.Join(dir, claim.FileName)
	var r claim.Report
	if err := json.Unmarshal(dataOf(files, claim.FileName), &r); err != nil {
		return nil, fmt.Errorf("read %s: is not what pulley claims writes: %w", path, err)
	}
	if r.Claims == nil {
		return nil, fmt.Errorf("read %s: it has no claims", path)
	}
	return verdicts.Claims(&r, files...), nil
}

// openChaos carries the case that repeats the run, too.
func openChaos(dir string, files []page.File) (*page.Page, error) {
	c, err := record.ReadChaos(dir)
	if err != nil {
		return nil, err
	}
	return verdicts.Chaos(c, files...), nil
}

// openSim has the case of an earlier search only where no later one says that it found nothing.
func openSim(dir string, files []page.File) (*page.Page, error) {
	r := &verdicts.SimRecord{Coverage: string(dataOf(files, record.SimCoverageFile))}
	var err error
	violated := dataOf(files, record.SimCaseFile) != nil
	if dataOf(files, record.SimFile) != nil {
		if r.Sim, err = record.ReadSim(dir); err != nil {
			return nil, err
		}
		violated = false
		for _, s := range r.Sim.Searches {
			violated = violated || s.Violation != nil
		}
	}
	if !violated {
		files = without(files, record.SimCaseFile, record.SimStepsFile, record.SimDrawingFile)
		return verdicts.Sim(r, files...), nil
	}
	if r.Case, err = record.ReadSimCase(dir); err != nil {
		return nil, err
	}
	r.Drawing, r.Steps = dataOf(files, record.SimDrawingFile), string(dataOf(files, record.SimStepsFile))
	return verdicts.Sim(r, files...), nil
}

func openForecast(dir string, files []page.File) (*page.Page, error) {
	f, err := record.ReadForecast(dir)
	if err != nil {
		return nil, err
	}
	return verdicts.Forecast(f, dataOf(files, record.GanttFile), files...), nil
}

func openNight(dir string, files []page.File) (*page.Page, error) {
	n, err := record.ReadNight(filepath.Join(dir, record.NightFile))
	if err != nil {
		return nil, err
	}
	return verdicts.Night(n, files...), nil
}

// historyFiles: a history tells more than an earlier report on it.
var historyFiles = []string{history.FileName, history.ReportFile}

// The options of pulley history without flags.
var historyOptions = history.Options{MinChange: 0.01, Recent: 10, Seed: 1}

func openHistory(dir string, files []page.File) (*page.Page, error) {
	if dataOf(files, history.FileName) == nil {
		r, err := history.ReadReport(filepath.Join(dir, history.ReportFile))
		if err != nil {
			return nil, err
		}
		return changes.History(r, files...), nil
	}
	path := filepath.Join(dir, history.FileName)
	runs, skipped, err := history.Read(path)
	if err != nil {
		return nil, err
	}
	if len(runs) == 0 && len(skipped) > 0 {
		return nil, fmt.Errorf("read %s: there is no run in it, line %d %s", path, skipped[0].Line, skipped[0].Why)
	}
	r, err := history.AnalyzeAll(path, runs, skipped, nil, historyOptions)
	if err != nil {
		return nil, err
	}
	r.Command = []string{"pulley", "history", dir}
	return changes.History(r, without(files, history.ReportFile)...), nil
}

// Beside lays out two folders with records of comparisons side by side: what changed, whether it is shown, and in what else the
// records differ. A page on other records has no such decision, and Beside fails.
func Beside(candidate, baseline string) (*page.Page, error) {
	var runs [2][]gate.Run
	var files []page.File
	for i, dir := range []string{baseline, candidate} {
		var err error
		if runs[i], err = runsOf(dir); err != nil {
			return nil, fmt.Errorf("%w; side by side are two records of comparisons", err)
		}
		own, err := readFiles(dir, []string{record.ManifestFile, record.SummaryFile})
		if err != nil {
			return nil, err
		}
		for _, f := range own {
			files = append(files, page.File{Name: []string{"baseline", "candidate"}[i] + "/" + f.Name, Data: f.Data})
		}
	}
	return changes.Beside(candidate, baseline, runs[1], runs[0], files...)
}

// runsOf returns a folder's own record, or those below a folder that has none.
func runsOf(dir string) ([]gate.Run, error) {
	if !exists(dir, record.ManifestFile) {
		return gate.ReadRuns(dir)
	}
	m, err := record.ReadManifest(filepath.Join(dir, record.ManifestFile))
	if err != nil {
		return nil, err
	}
	return []gate.Run{{Dir: dir, Manifest: m}}, nil
}
