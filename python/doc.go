// Package python embeds the Python package pulley, and runs it on workflows written in Python.
//
// An [Interpreter] is a python3 and a directory with the unpacked package, so that nothing needs to be installed.
// [Interpreter.Compile] translates a file's workflow into the workflow language; [Source.Parse] parses the translation, with
// positions in the Python text. [Interpreter.Complete] checks an input by the workflow's type hints, and adds defaults.
// [Interpreter.Worker] is the command of a worker for a file's actions.
//
// Each call starts a process that ends with its answer, or with its context. Mistakes in a file are a [Refusal], one line each.
package python
