package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"pulley/cmd/pulley/console"
	"pulley/engine/graph"
	"pulley/engine/reference"
	"pulley/internal/cause"
	"pulley/internal/clip"
	"pulley/internal/plural"
	"pulley/reports/record"
	"pulley/scenarios"
	"pulley/scenarios/dist"
	"pulley/scenarios/wfformat"
)

type scenariosCmd struct {
	Show   scenariosShowCmd   `cmd:"" help:"Print a scenario: its files, its sizes, an instance of it, and its graph."`
	Check  scenariosCheckCmd  `cmd:"" help:"Look for everything that is wrong with scenarios' files, and say what they would run."`
	Import scenariosImportCmd `cmd:"" help:"Make a scenario of a recorded workflow, a trace in WfFormat."`
	Export scenariosExportCmd `cmd:"" help:"Write a scenario's files into a folder, where they can be changed."`
}

func (scenariosCmd) Help() string {
	var b strings.Builder
	b.WriteString("A scenario is a YAML file and a program. pulley list scenarios names those that ship. Wherever a command takes a scenario's name, it takes the path of a file too: " +
		"pulley compare my/orders.yaml. pulley scenarios export shop writes one to begin with.\n\n" +
		"Exit status: 0; 2 for a mistake in a file or in the command line, and all mistakes of a file are reported.\n\nKeys of a file:\n\n")
	for line := range strings.Lines(scenarios.Help) {
		b.WriteString("  " + line)
	}
	b.WriteString("\nA text that begins with = is an expression of the workflow language, over size, the parameters and, in input and expect, instance " +
		"and what is drawn. Distributions: " + dist.Help + ".")
	return b.String()
}

type scenariosShowCmd struct {
	Scenario string `arg:"" help:"NAME or FILE, with =SIZE for another size than the smallest default one."`
	Graph    string `enum:"text,dot,mermaid,none,only-dot,only-mermaid" default:"text" help:"How the graph is drawn: text (a list), dot (Graphviz), mermaid or none; only-dot and only-mermaid print nothing else."`
	console.SetFlag
	console.SeedFlag `set:"drawn=what is drawn"`
	console.FormatFlag
}

func (o *scenariosShowCmd) Run(c *console.Console) error {
	name, size, sized, err := scenarios.ParseName(o.Scenario)
	if err != nil {
		return err
	}
	s, err := scenarios.Find(name)
	if err != nil {
		return console.Refuse(err)
	}
	if !sized {
		size = s.DefaultSizes[0]
	}
	set, err := scenarios.ParseSet(o.Set)
	if err != nil {
		return fmt.Errorf("--set: %w", err)
	}
	m, err := s.Mix(size, scenarios.Options{Set: set, Seed: o.Seed})
	if err != nil {
		return console.Refuse(err)
	}
	w := m.Of(0)
	if only, is := strings.CutPrefix(o.Graph, "only-"); is && !o.JSON() {
		return c.Print(draw(w.Graph, only))
	}
	definition, err := graph.Encode(w.Graph)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, t := range s.Texts() {
		fmt.Fprintf(&b, "# %s\n%s\n", t.Name, strings.TrimRight(clippedFile(t), "\n")+"\n")
	}
	if !programmed(s, w) {
		fmt.Fprintf(&b, "# the program of size %d, as it is generated\n%s\n", size, w.Source)
	}
	fmt.Fprintf(&b, "# sizes\n%s\n\n# an instance of size %d\n%s", sizesOf(s), size, instanceOf(m, w))
	if o.Graph != "none" {
		fmt.Fprintf(&b, "\n# its graph\n%s", draw(w.Graph, o.Graph))
	}
	return c.PrintAs(o.FormatFlag, shownScenario{
		Name: m.Name, About: s.Doc, Size: size, Sizes: s.DefaultSizes, Files: texts(s), Program: w.Source, Input: w.Input, Nodes: w.Nodes, Graph: definition, Warnings: append([]string{}, w.Warnings...),
	}, b.String())
}

type shownScenario struct {
	Name     string            `json:"name"`
	About    string            `json:"about"`
	Size     int               `json:"size"`
	Sizes    []int             `json:"sizes"`
	Files    map[string]string `json:"files"`
	Program  string            `json:"program"` // of this size; empty: the graph was built without one
	Input    json.RawMessage   `json:"input"`
	Nodes    int               `json:"nodes"`
	Graph    json.RawMessage   `json:"graph"`
	Warnings []string          `json:"warnings"`
}

func texts(s scenarios.Scenario) map[string]string {
	files := map[string]string{}
	for _, t := range s.Texts() {
		files[t.Name] = t.Text
	}
	return files
}

// shownMax bounds the printed part of traces and lists of samples, in bytes.
const shownMax = 2000

func clippedFile(t scenarios.Text) string {
	if strings.HasSuffix(t.Name, ".yaml") || strings.HasSuffix(t.Name, ".yml") || strings.HasSuffix(t.Name, ".ir") || len(t.Text) <= shownMax {
		return t.Text
	}
	return strings.ToValidUTF8(t.Text[:shownMax], "") + fmt.Sprintf("… (%d bytes)", len(t.Text))
}

// programmed reports whether a file of the scenario has the program, or there is no program.
func programmed(s scenarios.Scenario, w *scenarios.Workload) bool {
	if w.Source == "" {
		return true
	}
	for _, t := range s.Texts() {
		if t.Text == w.Source {
			return true
		}
	}
	return w.Name != s.Name // it is a part of a mix, with its own files
}

func sizesOf(s scenarios.Scenario) string {
	if s.SizeMin == s.SizeMax {
		return s.SizeMeans
	}
	var list []string
	for _, n := range s.DefaultSizes {
		list = append(list, strconv.Itoa(n))
	}
	most := ""
	if s.SizeMax < scenarios.SizeUnbounded {
		most = fmt.Sprintf(" to %d", s.SizeMax)
	}
	return fmt.Sprintf("%s by default, from %d%s: %s", strings.Join(list, ", "), s.SizeMin, most, s.SizeMeans)
}

func instanceOf(m *scenarios.Mix, w *scenarios.Workload) string {
	var b strings.Builder
	if len(m.Workloads) > 1 {
		fmt.Fprintf(&b, "the first of %d workloads that take turns\n", len(m.Workloads))
	}
	fmt.Fprintf(&b, "input  %s\n", clip.Runes(string(w.Input), 300))
	for _, end := range w.Ends {
		fmt.Fprintf(&b, "ends   %s\n", endText(end))
	}
	fmt.Fprintf(&b, "nodes  %s\n", nodesText(w))
	for _, warning := range w.Warnings {
		fmt.Fprintf(&b, "note: %s\n", warning)
	}
	return b.String()
}

func endText(end reference.End) string {
	if end.Status == reference.Completed {
		return "completed with " + clip.Runes(string(end.Result), 300)
	}
	return end.Describe()
}

func nodesText(w *scenarios.Workload) string {
	if w.Optional == 0 {
		return plural.Of(w.Nodes, "node run")
	}
	return fmt.Sprintf("%d to %d node runs", w.Nodes-w.Optional, w.Nodes)
}

type scenariosCheckCmd struct {
	Files []string `arg:"" help:"Files of scenarios, or names of those that ship."`
	console.FormatFlag
}

func (o *scenariosCheckCmd) Run(c *console.Console) error {
	var b strings.Builder
	var wrong []string
	right := []string{}
	for _, file := range o.Files {
		s, err := scenarios.Find(file)
		if err == nil {
			err = s.CheckSizes()
		}
		if err != nil {
			wrong = append(wrong, strings.Split(err.Error(), "\n")...)
			continue
		}
		text, err := checked(file, s)
		if err != nil {
			wrong = append(wrong, err.Error())
			continue
		}
		b.WriteString(text)
		right = append(right, file)
	}
	if err := c.PrintAs(o.FormatFlag, checkedFiles{right, append([]string{}, wrong...)}, b.String()); err != nil {
		return err
	}
	if len(wrong) > 0 {
		return &console.Refused{Lines: wrong}
	}
	return nil
}

type checkedFiles struct {
	Right    []string `json:"right"`
	Mistakes []string `json:"mistakes"`
}

func checked(file string, s scenarios.Scenario) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: right; %s: %s\n", file, s.Name, s.Doc)
	for _, size := range s.DefaultSizes {
		m, err := s.Mix(size, scenarios.Options{Seed: 1})
		if err != nil {
			return "", err
		}
		least, most := m.Nodes(len(m.Order))
		nodes := plural.Of(most, "node run")
		if least < most {
			nodes = fmt.Sprintf("%d to %d node runs", least, most)
		}
		failing := 0
		for i := range m.Workloads {
			if m.Workloads[i].Expected == nil {
				failing++
			}
		}
		fails := ""
		if failing > 0 {
			fails = fmt.Sprintf("; %s fails, or may", plural.Of(failing, "workload"))
		}
		name := fmt.Sprintf("size %d", size)
		if s.SizeMin == s.SizeMax {
			name = "one size"
		}
		turns := "the same for every instance"
		if len(m.Workloads) > 1 {
			turns = fmt.Sprintf("%d workloads in turn", len(m.Workloads))
		}
		fmt.Fprintf(&b, "  %s: %s, %s%s\n", name, turns, nodes, fails)
		for _, warning := range m.Warnings() {
			fmt.Fprintf(&b, "  note: %s\n", warning)
		}
	}
	return b.String(), nil
}

type scenariosImportCmd struct {
	Trace                 string `arg:"" help:"A trace in WfFormat, FILE.json."`
	Out                   string `default:"." placeholder:"DIR" help:"Where NAME.yaml and NAME.json are written. Default: here."`
	Name                  string `placeholder:"NAME" help:"Of the scenario. Default: the file's."`
	console.TimeScaleFlag `set:"scale=0.001"`
	console.FormatFlag
}

const importedMax = 1_000_000

func (o *scenariosImportCmd) Run(c *console.Console) error {
	if !(o.TimeScale >= 0) || o.TimeScale > 1e6 {
		return fmt.Errorf("--time-scale %v: choose from 0 to 1000000", o.TimeScale)
	}
	t, err := wfformat.ReadFile(o.Trace, wfformat.Limits{Tasks: importedMax, Edges: 20 * importedMax})
	if err != nil {
		return err
	}
	name := cmp.Or(o.Name, strings.TrimSuffix(filepath.Base(o.Trace), filepath.Ext(o.Trace)))
	if name == "" || name != filepath.Base(name) || strings.HasPrefix(name, ".") {
		return fmt.Errorf("--name %q: write a name without a folder", name)
	}
	about := fmt.Sprintf("%s: a recorded workflow of %s, %.4g s of work on the longest path", t.Label(), plural.Of(len(t.Tasks), "task"), t.CriticalPathSeconds())
	text := fmt.Sprintf("# Imported from %s.\nabout: %s\ntrace: {file: %s, time_scale: %s}\n",
		strconv.Quote(filepath.Base(o.Trace)), strconv.Quote(about), strconv.Quote(name+".json"), strconv.FormatFloat(o.TimeScale, 'g', -1, 64))
	scenario, trace := filepath.Join(o.Out, name+".yaml"), filepath.Join(o.Out, name+".json")
	if same(o.Trace, trace) {
		err = newFiles(o.Out, scenario)
	} else if err = newFiles(o.Out, scenario, trace); err == nil {
		err = record.WriteFile(trace, func(w io.Writer) error { return wfformat.Write(w, t) })
	}
	if err != nil {
		return err
	}
	if err := record.WriteFile(scenario, func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
		return err
	}
	for _, warning := range t.Warnings {
		c.Say("pulley: %s", warning)
	}
	return c.PrintAs(o.FormatFlag, written{[]string{scenario, trace}}, fmt.Sprintf("%s: %s, %s; run it as pulley compare %s\n", scenario, plural.Of(len(t.Tasks), "task"), plural.Of(t.Edges(), "dependency", "dependencies"), scenario))
}

type written struct {
	Files []string `json:"files"`
}

func same(a, b string) bool {
	one, errOne := os.Stat(a)
	two, errTwo := os.Stat(b)
	return errOne == nil && errTwo == nil && os.SameFile(one, two)
}

func newFiles(dir string, files ...string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("--out %s: %w; choose a directory that can be written", dir, cause.Of(err))
	}
	for _, file := range files {
		if _, err := os.Lstat(file); err == nil {
			return fmt.Errorf("%s is there already; remove it, or choose another --out", file)
		} else if !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s: %w", file, cause.Of(err))
		}
	}
	return nil
}

type scenariosExportCmd struct {
	Scenario string `arg:"" help:"NAME or FILE."`
	Out      string `default:"." placeholder:"DIR" help:"Where the files are written. Default: here."`
	console.FormatFlag
}

func (o *scenariosExportCmd) Run(c *console.Console) error {
	s, err := scenarios.Find(o.Scenario)
	if err != nil {
		return console.Refuse(err)
	}
	texts, err := s.Export()
	if err != nil {
		return err
	}
	var files, fresh []string
	for i, t := range texts {
		file := filepath.Join(o.Out, t.Name)
		files = append(files, file)
		if there, err := os.ReadFile(file); i == 0 || err != nil || string(there) != t.Text { // scenarios share programs
			fresh = append(fresh, file)
		}
	}
	if err := newFiles(o.Out, fresh...); err != nil {
		return err
	}
	for i, t := range texts {
		if err := record.WriteFile(files[i], func(w io.Writer) error { _, err := io.WriteString(w, t.Text); return err }); err != nil {
			return err
		}
	}
	return c.PrintAs(o.FormatFlag, written{files}, fmt.Sprintf("%s; run it as pulley compare %s\n", strings.Join(files, "\n"), files[0]))
}
