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
//	    deliveries: 3                        # after so many workers died with an attempt, it fails with WorkerDied; default: the engine counts
//	    hello: 30s                           # how long a worker may take to begin
//	    silence: 10s                         # how long it may send nothing, if it sends heartbeats
//	    grace: 2s                            # how long it may take to answer a cancel, and to end
//	    limits: {memory: 512MB, open_files: 64, processes: 16}  # of each process, and, of the last, with what it starts
//	    dir: images                          # as of an action
//	    env: {MODE: fast}
//
//	actions:
//	  render:
//	    job: cloud                           # a job on that server, for each attempt, see package httpjob; what follows is optional
//	    runs: projects/P/locations/L/jobs/J  # the job there; default, but for cloudrun: the action's name
//	    limit: 1h                            # of a job, which is cancelled then
//	    at_once: 100                         # jobs of this action
//	    overrides:                           # for cloudrun; ${image} stands for an argument, $$ for a dollar sign
//	      args: ["--image=${image}"]
//	      env: {SIZE: "${size}"}
//	      tasks: 3
//	      timeout: 10m                       # of each task
//	      container: main
//	      result: https://results.example.com/${pulley.key}   # where the job leaves its result
//
//	jobs:                                    # servers of HTTP jobs; what follows is optional, but for the url of a plain one
//	  cloud:
//	    url: https://run.googleapis.com
//	    dialect: cloudrun                    # or plain, which docs/http-jobs.md describes and which is the default
//	    token: {metadata: google}            # or {metadata: http://…}, {command: [gcloud, auth, print-access-token]}, {env: VARIABLE}
//	    poll: 2s                             # between looks at a job
//	    request_timeout: 30s
//	    patience: 5m                         # how long requests may fail before the attempt does
//	    settle: 10s                          # how long the server may take to show what it has started
//	    look_back: 168h                      # how old executions of cloudrun may be that are looked through
//	    requests: 32                         # in flight at once
//
// A worker that no action of the file names gives all actions that it knows, under their names.
//
// A program with a slash in its name is below dir, and one without is looked for in PATH. Keys that begin with x- are left to
// people, for what YAML's anchors share.
//
// [Open] tells all mistakes of a file at once, with their lines, and starts what the actions need; Close ends it.
package manifest
