// Package httpjob runs actions as jobs behind an HTTP API: it starts a job for each attempt, polls it every two seconds until
// it has ended, and returns its result.
//
// [New] makes a [Jobs] for a server, and [Jobs.Func] an action of one of its jobs:
//
//	jobs, err := httpjob.New(httpjob.Config{URL: "https://jobs.example.com/v1/jobs", Token: httpjob.CommandToken{"get-token"}})
//	...
//	resize, err := jobs.Func(httpjob.Job{Name: "resize", Limit: time.Hour})
//	...
//	err = registry.Register("resize", resize)
//
// There are two dialects. [Plain] is described in docs/http-jobs.md. [CloudRun] is version 2 of the Cloud Run jobs API:
// jobs.run with overrides, the operation in its answer, the execution and its condition Completed, and executions.cancel.
//
// # An attempt has one job
//
// An attempt is identified by its key: instance, node, path and number. All deliveries of an attempt have the same key, and
// every retry another. An engine that dies, stops or loses its lease leaves the job alone, and the next delivery finds it by
// the key.
//
//   - Plain: the key is the start's Idempotency-Key, and the server answers a second start with the first one's job. A start is
//     repeated until it is answered. A job is started once as long as the server remembers keys.
//   - CloudRun: jobs.run has no such key. The key is in the variable PULLEY_JOB_KEY of the execution's environment, and the
//     job's executions are listed before each request to start one, as far back as Config.LookupWindow. After a request whose
//     answer was lost or was a server error, the execution is looked for throughout Config.VisibilityDelay before a second
//     request. So an execution is started once as long as
//     (1) a request is served, or never will be, and its execution is listed, within Config.VisibilityDelay, and between deliveries
//     of an attempt within the engine's lease;
//     (2) executions are not deleted while their attempt is open, which is no longer than Config.LookupWindow (Google shows the
//     executions of the last seven days, and the newest 1,000); and
//     (3) no two engines believe at once that they hold the attempt, which the clock bounds in package dispatch ensure.
//     If two executions nevertheless have one key, the older one counts, and the other one is cancelled.
//
// # How an attempt ends
//
//	the job succeeded                                its result
//	the job failed                                   the type that it names, or JobFailed
//	somebody else cancelled the job                  JobCancelled
//	the server deleted the job, or forgot it         JobLost
//	the limit of Job or the node's timeout passed    Timeout; the job is cancelled
//	the instance ended                               the job is cancelled
//	the engine stops, dies, or lost the lease        the job continues, and the next delivery finds it
//	engines died with it, MaxDeliveries times        WorkerDied, of the engine's Config; the job continues
//	the result is missing, or is no JSON             ResultError
//	an answer is longer than Config.BodyBytes        LimitExceeded
//	a request is refused (most of 4xx, and 3xx)      HTTPError, with method, address, status and the begin of the answer
//	no answer for Config.GraceTime                   Unavailable; at once, if the first request finds no TLS, or no trusted certificate
//	no token is available                            TokenError; for Config.GraceTime, if there was one before
//
// Jobs are cancelled in the background, once, and within Config.CancelTimeout: the request is lost if the server is down, or if
// the engine dies first. When another engine cancels an instance, this one notices at the next renewal, within a third of the
// lease. If it cannot reach the store by then, the lease is lost, and the job continues to its own end. A job should therefore
// have its own time limit.
//
// A plain job's status has its result or failure. A Cloud Run job has only an exit status: without Overrides.ResultURL the
// result is an object of the execution's name, its counts succeeded, failed and cancelled, and its log_uri. With it, the job
// stores a JSON object there before it ends, {"result": …} or {"error": {"type": …, "message": …}}, for example in an object
// store, under a name with ${pulley.key}. It is fetched with the same token once the job has ended. An error counts if the job
// failed.
//
// # Requests
//
// Connection errors and the statuses 408, 409, 425, 429 and 5xx are retried after a random pause with a bound that doubles up
// to Config.RetryMax. The pause begins after Retry-After, up to Config.RetryAfterMax; that also applies after a success. The
// last retry is at the end of Config.GraceTime. At most Config.Requests are in flight. An attempt uses only the engine's
// goroutine; all attempts of one job share listings of executions. Redirects are not followed. If a server limits the rate of
// requests, choose Config.Poll: each job causes one request in that time.
//
// A token is kept until a minute before it expires, or until a quarter of its lifetime is left; while its source fails, it is
// used to its end. The status 401 replaces it once. Errors contain no tokens, users and queries of addresses.
package httpjob
