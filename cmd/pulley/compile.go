package main

import (
	"pulley/cmd/pulley/console"
)

// compileCmd is pulley compile.
type compileCmd struct {
	console.ProgramArg
	Out string `short:"o" placeholder:"FILE" help:"Write to FILE, whole or not at all. Without it: standard output."`
}

// Help is the end of the command's help.
func (compileCmd) Help() string {
	return "A program that is printed here is one that the other commands take. Of a workflow in Python it is what the file is translated to."
}

// Run checks the program, and prints its text.
func (o *compileCmd) Run(c *console.Console) error {
	text, err := o.Text(c)
	if err != nil {
		return err
	}
	if o.Out == "" {
		return c.Print(text)
	}
	return writeOut(o.Out, text)
}
