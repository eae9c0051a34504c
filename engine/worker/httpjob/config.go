package httpjob

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// The failure types of this package, in addition to those of package worker.
const (
	TypeJobFailed    = "JobFailed"    // the job failed without a type
	TypeJobCancelled = "JobCancelled" // not cancelled by us
	TypeJobLost      = "JobLost"      // the server does not know a started job any more
	TypeHTTP         = "HTTPError"    // the server refused a request with a permanent status
	TypeUnavailable  = "Unavailable"  // the server could not be reached, or could not answer, for longer than Config.GraceTime
	TypeToken        = "TokenError"
)

// Dialect is a server's API.
type Dialect string

// The dialects.
const (
	Plain    Dialect = "plain" // described in docs/http-jobs.md
	CloudRun Dialect = "cloudrun"
)

// CloudRunURL is the address of Google's API.
const CloudRunURL = "https://run.googleapis.com"

// Config configures a server. Plain requires URL; every other field has a default.
type Config struct {
	Dialect Dialect // empty means Plain

	// URL is, for Plain, the collection of jobs, such as https://jobs.example.com/v1/jobs, and for CloudRun the server; there
	// empty means CloudRunURL. It has no user, query or fragment.
	URL string

	// authorizes requests; nil: no token
	Token TokenSource

	// nil: a new transport with as many connections as Requests
	Transport http.RoundTripper

	Poll           time.Duration // interval of polling a job, ± a quarter. Zero: 2 s. From 1 ms to 1 h
	RequestTimeout time.Duration // of one request with its answer. Zero: 30 s. From 1 ms to 1 h
	RetryMin       time.Duration // bound on the pause after a first failed request; doubled for each in a row. Zero: 200 ms. From 1 ms to 1 h
	RetryMax       time.Duration // bound on such pauses. Zero: 30 s. From RetryMin to 1 h
	RetryAfterMax  time.Duration // bound on a server's Retry-After. Zero: 5 min. From 1 ms to 24 h
	GraceTime      time.Duration // how long successive requests, and getting a token, may fail before the attempt does. Zero: 5 min. From 1 ms to 24 h

	// VisibilityDelay is how long the server may take to show what it has started. A new job may be unknown for so long, and a
	// start with a lost answer is repeated only after its job was not found for so long. Zero: 10 s. From 1 ms to 1 h
	VisibilityDelay time.Duration

	// LookupWindow is the age up to which CloudRun executions are searched for one that was started before. Zero: 7 days. From
	// 1 min to 1,000 days
	LookupWindow time.Duration

	CancelTimeout time.Duration // for cancelling one known job, with all requests. Zero: 10 s. From 1 ms to 1 h

	Requests  int // in flight at once. Zero: 32. At most 10,000
	BodyBytes int // of one answer. Zero: 4 MiB. From 1 kB to 1 GiB

	// Log receives lines about errors that fail no attempt, such as a job that could not be cancelled. It is called
	// concurrently. May be nil.
	Log func(line string)
}

func (c Config) withDefaults() Config {
	c.Dialect = cmp.Or(c.Dialect, Plain)
	if c.Dialect == CloudRun {
		c.URL = cmp.Or(c.URL, CloudRunURL)
	}
	c.URL = strings.TrimRight(c.URL, "/")
	c.Poll = cmp.Or(c.Poll, 2*time.Second)
	c.RequestTimeout = cmp.Or(c.RequestTimeout, 30*time.Second)
	c.RetryMin = cmp.Or(c.RetryMin, 200*time.Millisecond)
	c.RetryMax = cmp.Or(c.RetryMax, max(30*time.Second, c.RetryMin))
	c.RetryAfterMax = cmp.Or(c.RetryAfterMax, 5*time.Minute)
	c.GraceTime = cmp.Or(c.GraceTime, 5*time.Minute)
	c.VisibilityDelay = cmp.Or(c.VisibilityDelay, 10*time.Second)
	c.LookupWindow = cmp.Or(c.LookupWindow, 7*24*time.Hour)
	c.CancelTimeout = cmp.Or(c.CancelTimeout, 10*time.Second)
	c.Requests = cmp.Or(c.Requests, 32)
	c.BodyBytes = cmp.Or(c.BodyBytes, 4<<20)
	if c.Log == nil {
		c.Log = func(string) {}
	}
	return c
}

func (c Config) validate() error {
	var errs []error
	if c.Dialect != Plain && c.Dialect != CloudRun {
		errs = append(errs, fmt.Errorf("there is no dialect %q; choose %s or %s", c.Dialect, Plain, CloudRun))
	}
	if err := checkURL(c.URL); err != nil {
		errs = append(errs, err)
	}
	length := func(name string, value, least, most time.Duration) {
		if value < least || value > most {
			errs = append(errs, fmt.Errorf("%s is %v, must be from %v to %v", name, value, least, most))
		}
	}
	number := func(name string, value, least, most int) {
		if value < least || value > most {
			errs = append(errs, fmt.Errorf("%s is %d, must be from %d to %d", name, value, least, most))
		}
	}
	length("Poll", c.Poll, time.Millisecond, time.Hour)
	length("RequestTimeout", c.RequestTimeout, time.Millisecond, time.Hour)
	length("RetryMin", c.RetryMin, time.Millisecond, time.Hour)
	length("RetryMax", c.RetryMax, c.RetryMin, time.Hour)
	length("RetryAfterMax", c.RetryAfterMax, time.Millisecond, 24*time.Hour)
	length("Patience", c.GraceTime, time.Millisecond, 24*time.Hour)
	length("Settle", c.VisibilityDelay, time.Millisecond, time.Hour)
	length("LookBack", c.LookupWindow, time.Minute, 1000*24*time.Hour)
	length("CancelTimeout", c.CancelTimeout, time.Millisecond, time.Hour)
	number("Requests", c.Requests, 1, 10_000)
	number("BodyBytes", c.BodyBytes, 1000, 1<<30)
	return errors.Join(errs...)
}

// checkURL never repeats possible secrets.
func checkURL(text string) error {
	if text == "" {
		return errors.New("the URL is empty; name the server")
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("the URL is no address of a server; write one like https://jobs.example.com/v1/jobs")
	case u.User != nil:
		return errors.New("the URL has a user in it; leave it out, and give a token instead")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("the URL has a query or a fragment; leave it out")
	}
	return nil
}

// AtOnceDefault is the default of Job.AtOnce.
const AtOnceDefault = 1000

// Job is what one action starts. The zero value is, for Plain, a job with the action's name.
type Job struct {
	// Name is, for Plain, what to run; empty means the action's name. For CloudRun it is the job, as in
	// projects/P/locations/L/jobs/J.
	Name string

	// Limit bounds a job from its attempt's turn; then the job is cancelled, and the attempt fails with Timeout. Zero: only the
	// node's timeout.
	Limit time.Duration

	// AtOnce bounds this action's attempts with a job; zero: AtOnceDefault. Further ones wait, during which the node's timeout
	// runs.
	AtOnce int

	Overrides Overrides // for CloudRun only
}

// Overrides override a Cloud Run job's settings for an execution. In each text, ${name} is an argument of the action, a text as
// it is and any other value as JSON, ${pulley.key} the attempt's key, and $$ a dollar sign.
type Overrides struct {
	Container string            // that Args and Env apply to; empty: the job's only one
	Args      []string          // nil: the job's
	Env       map[string]string // added to the job's
	TaskCount int               // zero: the job's
	Timeout   time.Duration     // of each task, in whole seconds; zero: the job's

	// ResultURL is where a job stores its result; empty: the result is the counts of tasks. See the package doc.
	ResultURL string
}

var cloudRunJob = regexp.MustCompile(`^projects/[^/?#\s]+/locations/[^/?#\s]+/jobs/[^/?#\s]+$`)

func (j Job) validate(d Dialect) error {
	o := j.Overrides
	switch {
	case j.Limit < 0:
		return fmt.Errorf("the limit is %v; choose more, or zero for none", j.Limit)
	case j.AtOnce < 0:
		return fmt.Errorf("%d jobs at once; choose one at least", j.AtOnce)
	case d == Plain && (o.Container != "" || o.Args != nil || o.Env != nil || o.TaskCount != 0 || o.Timeout != 0 || o.ResultURL != ""):
		return fmt.Errorf("overrides are for the dialect %s; a job of the dialect %s gets the arguments as they are", CloudRun, Plain)
	case d == Plain:
		return nil
	case !cloudRunJob.MatchString(j.Name):
		return fmt.Errorf("%q is not the name of a Cloud Run job; write projects/PROJECT/locations/REGION/jobs/JOB", j.Name)
	case o.TaskCount < 0:
		return fmt.Errorf("%d tasks; choose one at least, or zero for what the job says", o.TaskCount)
	case o.Timeout < 0 || o.Timeout%time.Second != 0:
		return fmt.Errorf("the timeout of tasks is %v; choose whole seconds, or zero for what the job says", o.Timeout)
	}
	for name := range o.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fmt.Errorf("%q cannot be a variable of the environment; write a name without = and zero bytes", name)
		}
		if strings.HasPrefix(name, "PULLEY_") {
			return fmt.Errorf("the variable %s is pulley's to set; choose a name that does not begin with PULLEY_", name)
		}
	}
	return nil
}
