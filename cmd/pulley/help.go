package main

import (
	"fmt"
	"runtime"

	"github.com/alecthomas/kong"

	"pulley/bench/measure"
	"pulley/cmd/pulley/console"
)

type helpCmd struct {
	Command []string `arg:"" optional:"" help:"The command, such as run or scenarios check. Default: all commands are listed."`
}

func (o *helpCmd) Run(c *console.Console, parser *kong.Kong) error {
	command := o.Command     // the parser resets the struct
	for i := range command { // an unknown command is a mistake; missing arguments are not
		if _, err := commandOf(parser, command[:i+1]); err != nil {
			return err
		}
	}
	// The help flag prints and exits the program: only its output is wanted.
	printed := false
	parser.Exit = func(int) { printed = true }
	_, err := parser.Parse(append(command, "--help"))
	if printed || err == nil {
		return nil
	}
	return usage(err)
}

type versionCmd struct{ console.FormatFlag }

func (v versionCmd) Run(c *console.Console) error {
	return c.PrintAs(v.FormatFlag, measure.Tool("pulley"), versionLine())
}

type versionFlag bool

// BeforeReset prints the version and ends the program, whatever else the command line says.
func (versionFlag) BeforeReset(k *kong.Kong, c *console.Console) error {
	err := c.Print(versionLine())
	k.Exit(c.Fail(err))
	return nil
}

func versionLine() string {
	tool := measure.Tool("pulley")
	line := tool.Name + " " + tool.Version
	if tool.Revision != "" {
		line += " (" + tool.Revision
		if tool.Modified {
			line += ", modified"
		}
		line += ")"
	}
	return fmt.Sprintf("%s, %s, %s/%s\n", line, tool.Go, runtime.GOOS, runtime.GOARCH)
}
