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

// The failure types that this package gives beside those of package worker.
const (
	TypeJobFailed    = "JobFailed"    // the job failed, and named no type
	TypeJobCancelled = "JobCancelled" // somebody else cancelled the job
	TypeJobLost      = "JobLost"      // the server knows nothing more of a job that was started
	TypeHTTP         = "HTTPError"    // the server refused a request, by a status that repeating does not change
	TypeUnavailable  = "Unavailable"  // the server could not be reached, or was not able to answer, for longer than Config.GraceTime
	TypeToken        = "TokenError"   // no token could be had
)

// Dialect is the API that a server speaks.
type Dialect string

// The dialects.
const (
	Plain    Dialect = "plain"    // the one that docs/http-jobs.md describes
	CloudRun Dialect = "cloudrun" // version 2 of the API of Cloud Run jobs
)

// CloudRunURL is where Google's API is.
const CloudRunURL = "https://run.googleapis.com"

// Config says how a server is spoken to. URL must be set for Plain; every other field has a default.
type Config struct {
	Dialect Dialect // empty means Plain

	// URL is, for Plain, the collection of jobs, such as https://jobs.example.com/v1/jobs, and for CloudRun the server; empty means
	// CloudRunURL there. It has no user, query or fragment.
	URL string

	// Token gives what authorizes requests. Nil: they have no token.
	Token TokenSource

	// Transport sends requests. Nil: a transport of this Jobs' own, which keeps as many connections as Requests says.
	Transport http.RoundTripper

	Poll           time.Duration // between looks at a job, a quarter more or less. Zero: 2 s. From 1 ms to 1 h
	RequestTimeout time.Duration // of one request and its answer. Zero: 30 s. From 1 ms to 1 h
	RetryMin       time.Duration // the longest pause after a first request that failed; doubled for each in a row. Zero: 200 ms. From 1 ms to 1 h
	RetryMax       time.Duration // the longest such pause. Zero: 30 s. From RetryMin to 1 h
	RetryAfterMax  time.Duration // the longest pause that a server may ask for; more counts as this. Zero: 5 min. From 1 ms to 24 h
	GraceTime      time.Duration // how long requests in a row, and asking for a token, may fail before the attempt does. Zero: 5 min. From 1 ms to 24 h

	// VisibilityDelay is how long the server may take to show what it has started: a job that was just started may be unknown for so long,
	// and a start whose answer was lost is only repeated after the job was looked for in vain for so long. Zero: 10 s. From 1 ms to 1 h
	VisibilityDelay time.Duration

	// LookupWindow is how old executions of CloudRun may be that are looked at for one that was started before. Zero: 7 days. From 1 min
	// to 1,000 days
	LookupWindow time.Duration

	CancelTimeout time.Duration // of cancelling one job, with all its requests, once it is known which it is. Zero: 10 s. From 1 ms to 1 h

	Requests  int // in flight at once. Zero: 32. At most 10,000
	BodyBytes int // of one answer. Zero: 4 MiB. From 1 kB to 1 GiB

	// Log is told, in one line, what no attempt fails by, such as a job that could not be cancelled. It is called from several
	// goroutines. Nil: nobody is told.
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

// validate reports every field that is out of its bounds. Defaults must have been filled in.
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

// checkURL refuses what is no plain address of a server. It never repeats what may be a secret.
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

// AtOnceDefault is how many jobs of an action run at once if its Job does not say.
const AtOnceDefault = 1000

// Job says what one action starts. The zero value is, for Plain, a job with the action's name.
type Job struct {
	// Name is, for Plain, what is to be run; empty means the action's name. For CloudRun it is the job, as in
	// projects/P/locations/L/jobs/J.
	Name string

	// Limit is how long a job may take, from its attempt's turn; beyond it the job is cancelled, and the attempt fails with Timeout.
	// Zero: no limit but the node's timeout.
	Limit time.Duration

	// AtOnce bounds the attempts of this action that have a job; zero means AtOnceDefault. One beyond it waits for its turn, and the
	// node's timeout runs meanwhile.
	AtOnce int

	Overrides Overrides // for CloudRun only
}

// Overrides are what an execution of a Cloud Run job has instead of what the job says. In each text, ${name} stands for an
// argument of the action, a text as it is and any other value as JSON, and $$ for a dollar sign. Beside the arguments,
// ${pulley.key} is the key of the attempt.
type Overrides struct {
	Container string            // whose arguments and environment these are; empty: the job's only one
	Args      []string          // nil: those of the job
	Env       map[string]string // added to the job's
	TaskCount int               // zero: the job's
	Timeout   time.Duration     // of each task, in whole seconds; zero: the job's

	// ResultURL is where a job leaves its result; empty: the result is the counts of tasks. See the package doc.
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
