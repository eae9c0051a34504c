// Package httpjob runs actions as jobs behind an HTTP API: it starts a job for each attempt, looks at it every two seconds until it
// has ended, and gives what it left.
//
// [New] makes a [Jobs] for a server, and [Jobs.Func] an action of what the server runs:
//
//	jobs, err := httpjob.New(httpjob.Config{URL: "https://jobs.example.com/v1/jobs", Token: httpjob.CommandToken{"get-token"}})
//	...
//	resize, err := jobs.Func(httpjob.Job{Name: "resize", Limit: time.Hour})
//	...
//	err = registry.Register("resize", resize)
//
// Two dialects are spoken. [Plain] is described in docs/http-jobs.md. [CloudRun] is version 2 of the API of Cloud Run jobs:
// jobs.run with overrides, the operation that it is answered with, the execution and its condition Completed, and
// executions.cancel.
//
// # An attempt has one job
//
// An attempt is named by its key: instance, node, path and number. Each delivery of an attempt has the same key, and every retry
// another. An engine that dies, stops or loses its lease leaves the job alone, and the next delivery finds it by the key.
//
//   - Plain: the key is the Idempotency-Key of the start, and the server answers a second start with the first one's job. A start is
//     sent again until it is answered. A job is started once as long as the server remembers keys, whatever fails on the way.
//   - CloudRun: jobs.run has no such key. It travels as the variable PULLEY_JOB_KEY of the execution's environment, and the
//     executions of the job are listed before each request to start one, as far back as Config.LookupWindow. After a request that may
//     have been served, because its answer was lost or was an error of the server, the execution is looked for throughout
//     Config.VisibilityDelay, and only then is there a second request. So an execution is started once as long as
//     (1) a request is served, or will never be, and what it started is listed, within Config.VisibilityDelay, and between deliveries of an
//     attempt within the engine's lease;
//     (2) executions are not deleted while their attempt is open, nor does it stay open for longer than Config.LookupWindow (Google shows the
//     executions of the last seven days, and the newest 1,000); and
//     (3) no two engines believe at once that they hold the attempt, which the clocks' bounds in package dispatch are for.
//     Where two executions have one key even so, the older one counts, and the other one is cancelled.
//
// # How an attempt ends
//
//	the job succeeded                                its result
//	the job failed                                   the type that it names, or JobFailed
//	somebody else cancelled the job                  JobCancelled
//	the server deleted the job, or forgot it         JobLost
//	the limit of Job or the node's timeout passed    Timeout; the job is cancelled
//	the instance ended                               the job is cancelled
//	the engine stops, dies, or lost the lease        the job goes on, and is found by the next delivery
//	engines died with it, MaxDeliveries times        WorkerDied, of the engine's Config; the job goes on
//	the result is missing, or is no JSON             ResultError
//	an answer is longer than Config.BodyBytes        LimitExceeded
//	a request is refused (most of 4xx, and 3xx)      HTTPError, with method, address, status and the begin of the answer
//	no answer for Config.GraceTime                    Unavailable; at once, where the first request finds no TLS, or no trusted certificate
//	no token can be had                              TokenError; for Config.GraceTime, if there was one before
//
// Cancelling is done in the background, once per job, and within Config.CancelTimeout: a server that is down does not hear of it, nor
// does one whose engine dies first. An engine learns of an instance that another one cancelled when it next renews the lease, within
// a third of the lease; if it cannot reach the store by then, the lease is lost, and the job goes on to its own end. A job should
// therefore have a time limit of its own.
//
// A plain job gives its result and its failure in its status. A Cloud Run job has nothing but an exit status: without
// Overrides.ResultURL the result is an object of the execution's name, its counts succeeded, failed and cancelled, and its log_uri.
// With it, the job leaves a JSON object there before it ends, {"result": …} or {"error": {"type": …, "message": …}}, for example in
// an object store, under a name that has ${pulley.key} in it. It is fetched with the same token once the job has ended. An
// error counts if the job failed.
//
// # Requests
//
// Connection errors and the statuses 408, 409, 425, 429 and 5xx are repeated, after a random pause whose bound doubles up to
// Config.RetryMax, and which begins after what Retry-After says, up to Config.RetryAfterMax; that holds after a success, too. The last
// time is at the end of Config.GraceTime. At most
// Config.Requests are in flight. An attempt has the goroutine that the engine gives it and no other; listing executions is shared
// by all attempts of one job. Redirects are not followed. Where a server bounds the rate of requests, choose Config.Poll: there is one
// request for each job in that time.
//
// A token is kept until it expires, and replaced a minute before, or when a quarter of its life is left; while a source fails, it serves to
// its end. The status 401 has it replaced once. Tokens, users and queries of
// addresses are left out of errors.
package httpjob
