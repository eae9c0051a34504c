package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"pulley/cmd/pulley/console"
	"pulley/engine/graph"
	"pulley/internal/cause"
	"pulley/reports/record"
)

type graphCmd struct {
	console.ProgramArg
	Format string `enum:"text,dot,mermaid,json" default:"text" help:"text (a list), dot (Graphviz), mermaid or json (the definition that schedulers keep). Default: text."`
	console.OutFileFlag
}

func (graphCmd) Help() string {
	return "Actions may be of any name here: nothing is run.\n\nExample: pulley graph flow.ir --format dot | dot -Tsvg > flow.svg"
}

func (g *graphCmd) Run(c *console.Console) error {
	program, err := g.Compile(c)
	if err != nil {
		return err
	}
	text := draw(program.Graph(), g.Format)
	if g.Format == "json" {
		definition, err := graph.Encode(program.Graph())
		if err != nil {
			return err
		}
		text = string(definition) + "\n"
	}
	if g.Out == "" {
		return c.Print(text)
	}
	return writeOut(g.Out, text)
}

func draw(g *graph.Graph, format string) string {
	switch format {
	case "dot":
		return g.DOT()
	case "mermaid":
		return g.Mermaid()
	default:
		return g.Text()
	}
}

// writeOut replaces a file, whole or not at all. A pipe or a terminal must not be replaced; writeOut writes to it.
func writeOut(path, text string) error {
	info, err := os.Stat(path)
	if folder := filepath.Dir(path); err != nil {
		if in, wrong := os.Stat(folder); wrong != nil {
			return fmt.Errorf("--out %s: %s: %w; name a folder that is there", path, folder, cause.Of(wrong))
		} else if !in.IsDir() {
			return fmt.Errorf("--out %s: %s is not a directory; name a folder that is there", path, folder)
		}
	}
	if err != nil || info.Mode().IsRegular() || info.IsDir() {
		return record.WriteFile(path, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(f, text); err != nil {
		_ = f.Close() // report the first error
		return err
	}
	return f.Close()
}

type compiledProgram struct {
	Name    string   `json:"name"`
	Program string   `json:"program"`
	Inputs  []string `json:"inputs"`
	Actions []string `json:"actions"`
}

type compileCmd struct {
	console.ProgramArg
	console.OutFileFlag
	console.FormatFlag
}

func (compileCmd) Help() string {
	return "A program that is printed here is one that the other commands take. Of a workflow in Python it is what the file is translated to."
}

func (o *compileCmd) Run(c *console.Console) error {
	program, text, err := o.Translate(c)
	if err != nil {
		return err
	}
	if o.JSON() {
		g := program.Graph()
		if text, err = console.JSONText(compiledProgram{Name: g.Name, Program: text, Inputs: g.Inputs, Actions: g.Actions()}); err != nil {
			return err
		}
	}
	if o.Out == "" {
		return c.Print(text)
	}
	return writeOut(o.Out, text)
}
