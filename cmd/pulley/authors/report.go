package authors

import (
	"fmt"
	"strings"

	"pulley/cmd/pulley/console"
	"pulley/internal/plural"
)

// finding is a mistake of a program, as JSON has it.
type finding struct {
	Check    string `json:"check"`
	Sent     string `json:"sent"`
	Expected string `json:"expected"`
	Came     string `json:"came"`
	Advice   string `json:"advice"`
}

// checks is what was checked of a program.
type checks struct {
	Of              string // what the program says of itself; may be empty
	Passed, LeftOut []string

	findings []finding
	lines    []string // of the findings
}

// checksJSON is checks as JSON. Its lists are there, even if they are empty.
type checksJSON struct {
	Findings []finding `json:"findings"`
	Passed   []string  `json:"passed"`
	LeftOut  []string  `json:"left_out"`
}

func (c *checks) add(f finding, line string) {
	c.findings, c.lines = append(c.findings, f), append(c.lines, line)
}

func (c *checks) json() checksJSON {
	return checksJSON{Findings: append([]finding{}, c.findings...), Passed: append([]string{}, c.Passed...), LeftOut: append([]string{}, c.LeftOut...)}
}

// print prints the checks as text, or a value as JSON. Findings give the exit status 1.
func (c *checks) print(to *console.Console, format console.FormatFlag, value any) error {
	if err := to.PrintAs(format, value, c.text()); err != nil {
		return err
	}
	if len(c.findings) > 0 {
		return &console.Status{Code: console.ExitFailed}
	}
	return nil
}

func (c *checks) text() string {
	var b strings.Builder
	if c.Of != "" {
		fmt.Fprintln(&b, c.Of)
	}
	for _, line := range c.lines {
		fmt.Fprintln(&b, line)
	}
	for _, left := range c.LeftOut {
		fmt.Fprintf(&b, "left out: %s\n", left)
	}
	fmt.Fprintf(&b, "%s, %s without: %s\n", plural.Of(len(c.findings), "finding"), plural.Of(len(c.Passed), "check"), strings.Join(c.Passed, ", "))
	return b.String()
}
