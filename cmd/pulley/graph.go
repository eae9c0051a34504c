package main

import (
	"io"
	"os"

	"pulley/cmd/pulley/console"
	"pulley/engine/graph"
	"pulley/reports/record"
)

// graphCmd is pulley graph.
type graphCmd struct {
	console.ProgramArg
	Format string `enum:"text,dot,mermaid" default:"text" help:"text (a list), dot (Graphviz) or mermaid."`
	Out    string `short:"o" placeholder:"FILE" help:"Write to FILE, whole or not at all. Without it: standard output."`
}

// Help is the end of the command's help.
func (graphCmd) Help() string {
	return "Actions may be of any name here: nothing is run.\n\nExample: pulley graph flow.ir --format dot | dot -Tsvg > flow.svg"
}

// Run compiles the program and draws it.
func (g *graphCmd) Run(c *console.Console) error {
	program, err := g.Compile(c)
	if err != nil {
		return err
	}
	text := draw(program.Graph(), g.Format)
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

// writeOut replaces a file, whole or not at all. What is no file, such as a pipe or a terminal, is
// written to: it must not be replaced.
func writeOut(path, text string) error {
	info, err := os.Stat(path)
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
		_ = f.Close() // the first error is the one to tell
		return err
	}
	return f.Close()
}
