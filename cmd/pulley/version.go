package main

import (
	"fmt"
	"runtime"

	"github.com/alecthomas/kong"

	"pulley/bench/measure"
	"pulley/cmd/pulley/console"
)

// versionCmd is pulley version.
type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run(c *console.Console) error { return c.Print(versionLine()) }

// versionFlag is --version.
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
