package scenarios

import (
	"encoding/json"
	"fmt"
	"strings"

	"pulley/engine/graph"
	"pulley/engine/ir"
)

// Program is one of pulley's example programs. Each shows one construct of the language, or a combination that schedulers have
// failed on. Its actions are built in, and its results do not depend on the order in which actions end.
type Program struct {
	Name   string
	Doc    string // what it shows
	Source string
	Runs   []ProgramRun // at least one
}

// ProgramRun is an input of a program with the instance's end: one of Gives and Fails is set.
type ProgramRun struct {
	Input json.RawMessage
	Gives json.RawMessage
	Fails *ProgramFailure
}

// ProgramFailure is an instance's error, as pulley run prints it, without the file in the position.
type ProgramFailure struct {
	Type     string `json:"type"`
	Message  string `json:"message"`
	Action   string `json:"action"`
	Position string `json:"position"` // line:col
}

// Programs lists the programs by name.
func Programs() ([]Program, error) {
	names, err := programNames()
	if err != nil {
		return nil, err
	}
	list := make([]Program, len(names))
	for i, name := range names {
		source, err := Source(name)
		if err != nil {
			return nil, err
		}
		if list[i], err = readProgram(name, source); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Workload makes a workload of the program with its first input, without its number of nodes.
func (p Program) Workload(limits ir.Limits) (Workload, error) {
	w, err := fromProgram(p.Name, limits)
	w.Name, w.Size, w.Input, w.Expected = p.Name, 1, p.Runs[0].Input, p.Runs[0].Gives
	return w, err
}

// readProgram parses a program's head comment: what it shows, followed by inputs, each with its result or failure.
func readProgram(name, source string) (Program, error) {
	p := Program{Name: name, Source: source}
	var doc []string
	for line := range strings.Lines(source) {
		text, comment := strings.CutPrefix(strings.TrimSpace(line), "#")
		if !comment {
			break
		}
		key, value, _ := strings.Cut(strings.TrimSpace(text), ": ")
		var err error
		switch key {
		case "input":
			p.Runs = append(p.Runs, ProgramRun{Input: json.RawMessage(value)})
		case "gives", "fails":
			err = p.expect(key, value)
		default:
			doc = append(doc, strings.TrimSpace(text))
		}
		if err != nil {
			return p, fmt.Errorf("program %s: %w", name, err)
		}
	}
	p.Doc = strings.TrimSpace(strings.Join(doc, " "))
	if p.Doc == "" || len(p.Runs) == 0 {
		return p, fmt.Errorf("program %s does not begin with a comment that says what it shows, and with an input", name)
	}
	for _, r := range p.Runs {
		if (r.Gives == nil) == (r.Fails == nil) {
			return p, fmt.Errorf("program %s: the line behind the input %s must say what it gives, or how it fails", name, r.Input)
		}
	}
	return p, nil
}

func (p *Program) expect(key, value string) error {
	if len(p.Runs) == 0 {
		return fmt.Errorf("an input must stand before %q", key)
	}
	run := &p.Runs[len(p.Runs)-1]
	if key == "gives" {
		run.Gives = json.RawMessage(value)
		return nil
	}
	run.Fails = &ProgramFailure{}
	if err := json.Unmarshal([]byte(value), run.Fails); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// Source returns a program's text.
func Source(name string) (string, error) {
	text, err := shippedFiles.ReadFile("programs/" + name + ".ir")
	if err != nil {
		return "", fmt.Errorf("there is no program %q in scenarios/programs", name)
	}
	return string(text), nil
}

func programNames() ([]string, error) {
	entries, err := shippedFiles.ReadDir("programs")
	if err != nil {
		return nil, fmt.Errorf("list the programs: %w", err)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".ir")
	}
	return names, nil
}

// fromProgram leaves out what depends on size.
func fromProgram(name string, limits ir.Limits) (Workload, error) {
	source, err := Source(name)
	if err != nil {
		return Workload{}, err
	}
	g, err := graph.CompileText(name+".ir", []byte(source), limits)
	if err != nil {
		return Workload{}, err
	}
	return Workload{Graph: g, Source: source}, nil
}
