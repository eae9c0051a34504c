// Package manifest reads files that say how actions are run which are not written in Go, and runs them.
//
// A file is YAML:
//
//	actions:
//	  resize:                                # as workflows call it: @resize(image=…)
//	    process: [./resize.py, --fast]       # a program and its arguments: a process for each attempt, see package process
//	    args: [image, width]                 # optional: the arguments that it takes, exactly
//	    dir: images                          # where it runs, below the file's directory; that is also the default
//	    env: {MODE: fast}                    # added to pulley's environment
//	    limits: {time: 30s, output: 1MB, memory: 512MB, open_files: 64, processes: 16}
//	    at_once: 8                           # processes of this action
//	    grace: 2s                            # between SIGTERM and SIGKILL
//	    doc: makes an image smaller
//
// A program with a slash in its name is below dir, and one without is looked for in PATH. Keys that begin with x- are left to
// people, for what YAML's anchors share.
//
// [Open] tells all mistakes of a file at once, with their lines, and starts what the actions need; Close ends it.
package manifest
