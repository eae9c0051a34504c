// Package python carries the Python package pulley, and asks it about workflows that are written in Python.
//
// An [Interpreter] is a python3 and a directory with the package, which is unpacked from the program: nothing needs to be
// installed. [Interpreter.Compile] translates the workflow of a file into a program of the language, with a map of positions;
// [Source.Parse] reads that program, with the places of the Python text. [Interpreter.Complete] checks an input by the
// type hints of the workflow's run, and fills in defaults. [Interpreter.Worker] is the command of a worker that runs the actions of a
// file.
//
// Each question starts a process that ends with its answer, or with its context. What is wrong with a file is a [Refusal], with a
// line for each mistake.
package python
