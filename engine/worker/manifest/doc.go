// Package manifest reads files that define actions not written in Go, and runs them.
//
// A file is YAML:
//
//	actions:
//	  resize:                                # called as @resize(image=…)
//	    process: [./resize.py, --fast]       # a program and its arguments: a process for each attempt, see package process
//	    args: [image, width]                 # optional: the exact arguments
//	    dir: images                          # working directory, relative to the file's directory, which is the default
//	    env: {MODE: fast}                    # added to pulley's environment
//	    limits: {time: 30s, output: 1MB, memory: 512MB, open_files: 64, processes: 16}
//	    at_once: 8                           # processes of this action
//	    grace: 2s                            # between SIGTERM and SIGKILL
//	    doc: makes an image smaller
//	  shout: {worker: words, calls: words.shout}  # an action of a worker, under another name; calls, args and doc are optional
//
//	workers:                                 # long-lived processes that speak the worker protocol, see package pool
//	  words:
//	    command: [python3, words.py]
//	    processes: 2                         # optional, as all that follows
//	    slots: 4                             # attempts at once per process; default: the worker's own number
//	    at_once: 1000                        # all attempts, including waiting ones
//	    deliveries: 3                        # after so many deaths with an attempt, it fails with WorkerDied; default: the engine counts
//	    hello: 30s                           # bound on a worker's start
//	    silence: 10s                         # bound on its silence, if it sends heartbeats
//	    grace: 2s                            # bound on its answer to a cancel, and on its end
//	    limits: {memory: 512MB, open_files: 64, processes: 16}  # of each process; processes includes what it starts
//	    dir: images                          # as of an action
//	    env: {MODE: fast}
//
//	actions:
//	  render:
//	    job: cloud                           # a job on that server for each attempt, see package httpjob; the rest is optional
//	    runs: projects/P/locations/L/jobs/J  # the job there; default, except for cloudrun: the action's name
//	    limit: 1h                            # of a job, which is then cancelled
//	    at_once: 100                         # jobs of this action
//	    overrides:                           # for cloudrun; ${image} is an argument, $$ a dollar sign
//	      args: ["--image=${image}"]
//	      env: {SIZE: "${size}"}
//	      tasks: 3
//	      timeout: 10m                       # of each task
//	      container: main
//	      result: https://results.example.com/${pulley.key}   # where the job stores its result
//
//	jobs:                                    # servers of HTTP jobs; the rest is optional, except a plain one's url
//	  cloud:
//	    url: https://run.googleapis.com
//	    dialect: cloudrun                    # or the default plain, see docs/http-jobs.md
//	    token: {metadata: google}            # or {metadata: http://…}, {command: [gcloud, auth, print-access-token]}, {env: VARIABLE}
//	    poll: 2s                             # interval of polling a job
//	    request_timeout: 30s
//	    patience: 5m                         # how long requests may fail before the attempt does
//	    settle: 10s                          # how long the server may take to show what it has started
//	    look_back: 168h                      # the age up to which executions of cloudrun are searched
//	    requests: 32                         # in flight at once
//
// A worker that no action of the file names provides all actions that it knows, under their names.
//
// A program with a slash in its name is relative to dir, any other is searched in PATH. Keys that begin with x- are ignored,
// for use with YAML's anchors.
//
// [Open] reports all mistakes of a file at once, with their lines, and starts what the actions need; Close ends it.
package manifest
