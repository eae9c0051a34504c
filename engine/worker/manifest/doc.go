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
//	  shout: {worker: words, calls: words.shout}  # an action of a worker, under a name of its own; calls, args and doc are optional
//
//	workers:                                 # long-lived processes that speak the worker protocol, see package pool
//	  words:
//	    command: [python3, words.py]
//	    processes: 2                         # optional, as all that follows
//	    slots: 4                             # attempts at once in a process; default: what the worker says
//	    at_once: 1000                        # attempts in all, those that wait for a worker among them
//	    deliveries: 5                        # after so many workers died with an attempt, it fails with WorkerDied
//	    hello: 30s                           # how long a worker may take to begin
//	    silence: 10s                         # how long it may send nothing, if it sends heartbeats
//	    grace: 2s                            # how long it may take to answer a cancel, and to end
//	    dir: images                          # as of an action
//	    env: {MODE: fast}
//
// A worker that no action of the file names gives all actions that it knows, under their names.
//
// A program with a slash in its name is below dir, and one without is looked for in PATH. Keys that begin with x- are left to
// people, for what YAML's anchors share.
//
// [Open] tells all mistakes of a file at once, with their lines, and starts what the actions need; Close ends it.
package manifest
