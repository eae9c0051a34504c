package httpjob

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"pulley/engine/worker"
	"pulley/internal/pause"
)

// Environment variables of an execution. jobKeyVariable identifies it.
const (
	jobKeyVariable  = "PULLEY_JOB_KEY"
	keyVariable     = "PULLEY_KEY"
	attemptVariable = "PULLEY_ATTEMPT"
	argsVariable    = "PULLEY_ARGS"
)

// variableBytes is Cloud Run's limit for a variable's value.
const variableBytes = 32 << 10

// cloudRun is version 2 of the Cloud Run jobs API.
type cloudRun struct {
	client     *client
	job        Job
	executions *executions

	args      []template
	env       []runVariable
	resultURL template

	cancelOnStart func(id string) // in the background
}

type runVariable struct {
	name  string
	value template
}

func newCloudRun(c *client, job Job, e *executions) (*cloudRun, error) {
	d := &cloudRun{client: c, job: job, executions: e}
	o := job.Overrides
	for _, text := range o.Args {
		t, err := parseTemplate(text)
		if err != nil {
			return nil, err
		}
		d.args = append(d.args, t)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Env)) {
		t, err := parseTemplate(o.Env[name])
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", name, err)
		}
		d.env = append(d.env, runVariable{name: name, value: t})
	}
	var err error
	if d.resultURL, err = parseTemplate(o.ResultURL); err != nil {
		return nil, fmt.Errorf("result URL: %w", err)
	}
	if o.ResultURL != "" {
		begin := d.resultURL.texts[0]
		if u, err := url.Parse(begin); err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" || !strings.Contains(strings.TrimPrefix(begin, u.Scheme+"://"), "/") {
			return nil, fmt.Errorf("the result URL does not begin with the address of a server, without a user and with a path; write one like https://results.example.com/${%s}", keyName)
		}
	}
	return d, nil
}

type (
	runRequest struct {
		Overrides runOverrides `json:"overrides"`
	}
	runOverrides struct {
		ContainerOverrides []runContainer `json:"containerOverrides"`
		TaskCount          int            `json:"taskCount,omitempty"`
		Timeout            string         `json:"timeout,omitempty"` // in seconds, as in 60s
	}
	runContainer struct {
		Name      string   `json:"name,omitempty"`
		Args      []string `json:"args,omitempty"`
		Env       []runEnv `json:"env,omitempty"`
		ClearArgs bool     `json:"clearArgs,omitempty"`
	}
	runEnv struct {
		Name  string `json:"name"`
		Value string `json:"value,omitempty"`
	}
	operation struct {
		Name     string    `json:"name"`
		Done     bool      `json:"done"`
		Metadata execution `json:"metadata"`
		Response execution `json:"response"`
		Error    *struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	execution struct {
		Name           string      `json:"name"`
		CreateTime     time.Time   `json:"createTime"`
		CompletionTime string      `json:"completionTime"`
		DeleteTime     string      `json:"deleteTime"`
		TaskCount      int         `json:"taskCount"`
		SucceededCount int         `json:"succeededCount"`
		FailedCount    int         `json:"failedCount"`
		CancelledCount int         `json:"cancelledCount"`
		LogURI         string      `json:"logUri"`
		Conditions     []condition `json:"conditions"`
		Template       struct {
			Containers []struct {
				Env []runEnv `json:"env"`
			} `json:"containers"`
		} `json:"template"`
	}
	condition struct {
		Type            string `json:"type"`
		State           string `json:"state"`
		Message         string `json:"message"`
		Reason          string `json:"reason"`
		ExecutionReason string `json:"executionReason"`
	}
)

// key is that of the attempt which started an execution; empty: another program did.
func (e *execution) key() string {
	for _, c := range e.Template.Containers {
		for _, v := range c.Env {
			if v.Name == jobKeyVariable {
				return v.Value
			}
		}
	}
	return ""
}

func (e *execution) status() status {
	s := status{id: e.Name}
	i := slices.IndexFunc(e.Conditions, func(c condition) bool { return c.Type == "Completed" })
	var c condition
	if i >= 0 {
		c = e.Conditions[i]
	}
	switch {
	case e.DeleteTime != "" || c.ExecutionReason == "DELETED":
		s.state, s.failure = lost, &worker.Error{Type: TypeJobLost, Message: fmt.Sprintf("the execution %s was deleted", e.Name)}
		return s
	case c.State == "CONDITION_SUCCEEDED":
		s.state, s.result = succeeded, e.counts()
		return s
	case c.State == "CONDITION_FAILED" && (e.CompletionTime != "" || !passing[c.ExecutionReason]):
	case e.CompletionTime != "" && i < 0 && e.FailedCount+e.CancelledCount == 0 && e.SucceededCount > 0 && e.SucceededCount >= e.TaskCount:
		s.state, s.result = succeeded, e.counts()
		return s
	case e.CompletionTime != "" && i < 0:
	default:
		return s
	}
	what := fmt.Sprintf("of %d tasks of the execution %s, %d succeeded, %d failed and %d were cancelled",
		max(e.TaskCount, e.SucceededCount+e.FailedCount+e.CancelledCount), e.Name, e.SucceededCount, e.FailedCount, e.CancelledCount)
	if c.Message != "" {
		what = c.Message + " (" + what + ")"
	}
	s.state, s.failure = failed, &worker.Error{Type: TypeJobFailed, Message: what}
	if c.ExecutionReason == "CANCELLED" || c.ExecutionReason == "CANCELLING" || e.CancelledCount > 0 && e.FailedCount == 0 {
		s.state, s.failure.Type = cancelled, TypeJobCancelled
	}
	return s
}

// counts is the result of an execution without ResultURL.
func (e *execution) counts() json.RawMessage {
	text, err := json.Marshal(map[string]any{
		"execution": e.Name, "succeeded": e.SucceededCount, "failed": e.FailedCount, "cancelled": e.CancelledCount, "log_uri": e.LogURI,
	})
	if err != nil {
		return nil // strings and numbers can be encoded
	}
	return text
}

// passing are the reasons for which Completed may be false temporarily.
var passing = map[string]bool{"CANCELLING": true, "JOB_STATUS_SERVICE_POLLING_ERROR": true, "DELAYED_START_PENDING": true}

func (d *cloudRun) prepare(call worker.Call, key string) (start, error) {
	wrong := func(err error) (start, error) {
		return start{}, &worker.Error{Type: worker.TypeArgument, Message: fmt.Sprintf("action %s: %v", call.Action, err)}
	}
	if len(call.Args) > variableBytes {
		return wrong(fmt.Errorf("the arguments have %d bytes, and Cloud Run takes %d in a variable of the environment; pass on where the rest is found", len(call.Args), variableBytes))
	}
	var args map[string]json.RawMessage
	if err := json.Unmarshal(call.Args, &args); err != nil {
		return wrong(fmt.Errorf("the arguments cannot be read: %w", err))
	}
	o := d.job.Overrides
	c := runContainer{Name: o.Container, ClearArgs: o.Args != nil && len(o.Args) == 0}
	for _, t := range d.args {
		text, err := t.fill(args, key, false)
		if err != nil {
			return wrong(err)
		}
		c.Args = append(c.Args, text)
	}
	for _, v := range d.env {
		text, err := v.value.fill(args, key, false)
		if err != nil {
			return wrong(err)
		}
		if len(text) > variableBytes {
			return wrong(fmt.Errorf("the variable %s would have %d bytes, and Cloud Run takes %d", v.name, len(text), variableBytes))
		}
		c.Env = append(c.Env, runEnv{Name: v.name, Value: text})
	}
	c.Env = append(c.Env, runEnv{jobKeyVariable, key}, runEnv{keyVariable, call.Key()},
		runEnv{attemptVariable, strconv.Itoa(call.Attempt)}, runEnv{argsVariable, string(call.Args)})
	overrides := runOverrides{ContainerOverrides: []runContainer{c}, TaskCount: o.TaskCount}
	if o.Timeout > 0 {
		overrides.Timeout = strconv.FormatInt(int64(o.Timeout/time.Second), 10) + "s"
	}
	body, err := json.Marshal(runRequest{Overrides: overrides})
	if err != nil {
		return wrong(err)
	}
	s := start{key: key, request: request{method: http.MethodPost, url: d.url(d.job.Name) + ":run", body: body}}
	if o.ResultURL != "" {
		if s.resultURL, err = d.resultURL.fill(args, key, true); err != nil {
			return wrong(err)
		}
	}
	return s, nil
}

func (d *cloudRun) url(name string) string { return resourceURL(d.client.config.URL, name) }

func resourceURL(server, name string) string {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return server + "/v2/" + strings.Join(parts, "/")
}

// start looks for the execution before each request to start one: the API has no idempotency key. While a request's outcome is
// unclear, it continues to look for VisibilityDelay.
func (d *cloudRun) start(ctx context.Context, s *start) (status, error) {
	s.open = true
	b := backoff{config: d.client.config}
	var unclearSince time.Time // zero: none of our requests may have started it
	for {
		found, err := d.find(ctx, s.key)
		if err != nil || found.id != "" {
			return found, err
		}
		if !unclearSince.IsZero() && time.Since(unclearSince) < d.client.config.VisibilityDelay {
			if err := pause.For(ctx, d.client.config.VisibilityDelay/8); err != nil {
				return status{}, err
			}
			continue
		}
		unclearSince = time.Time{}
		a, err := d.client.once(ctx, s.request)
		if err == nil {
			return d.begun(s.request, a)
		}
		if s.open = isUnclear(err); s.open {
			unclearSince = time.Now()
		}
		if err := b.wait(ctx, err); err != nil {
			return status{}, err
		}
	}
}

func (d *cloudRun) begun(r request, a answer) (status, error) {
	var op operation
	if err := json.Unmarshal(a.body, &op); err != nil {
		return status{}, badAnswer(r, "it is no JSON of an operation: %v", err)
	}
	if op.Metadata.Name == "" && op.Response.Name == "" && op.Name == "" {
		return status{}, badAnswer(r, "it names neither an operation nor an execution")
	}
	return op.status(), nil
}

func (o *operation) status() status {
	for _, e := range []*execution{&o.Response, &o.Metadata} {
		if strings.Contains(e.Name, "/executions/") {
			return e.status()
		}
	}
	s := status{id: o.Name}
	if o.Error != nil {
		s.state = failed
		s.failure = &worker.Error{Type: TypeJobFailed, Message: fmt.Sprintf("the execution was not created: %s (code %d)", o.Error.Message, o.Error.Code)}
	}
	return s
}

func (d *cloudRun) find(ctx context.Context, key string) (status, error) {
	name, more, err := d.executions.find(ctx, key)
	if err != nil || name == "" {
		return status{}, err
	}
	for _, other := range more {
		d.client.config.Log(fmt.Sprintf("the attempt %s has two executions: %s counts, and %s is cancelled", key, name, other))
		d.cancelOnStart(other)
	}
	return status{id: name}, nil
}

func (d *cloudRun) poll(ctx context.Context, id string) (status, error) {
	r := request{method: http.MethodGet, url: d.url(id)}
	a, err := d.client.repeat(ctx, r)
	if err != nil {
		return status{}, err
	}
	var s status
	if strings.Contains(id, "/executions/") {
		var e execution
		if err := json.Unmarshal(a.body, &e); err != nil {
			return status{}, badAnswer(r, "it is no JSON of an execution: %v", err)
		}
		e.Name = id
		s = e.status()
	} else {
		var op operation
		if err := json.Unmarshal(a.body, &op); err != nil {
			return status{}, badAnswer(r, "it is no JSON of an operation: %v", err)
		}
		op.Name = id
		s = op.status()
	}
	s.retryAfter = a.retryAfter
	return s, nil
}

// For an operation, cancel first waits for the execution's name.
func (d *cloudRun) cancel(ctx context.Context, id string) error {
	for !strings.Contains(id, "/executions/") {
		seen, err := d.poll(ctx, id)
		switch {
		case err != nil:
			return err
		case seen.state != active && seen.id == id:
			return nil
		case seen.id != id:
			id = seen.id
			continue
		}
		if err := pause.For(ctx, d.client.config.CancelTimeout/8); err != nil {
			return fmt.Errorf("the operation %s does not say which execution it started: %w", id, err)
		}
	}
	_, err := d.client.repeat(ctx, request{method: http.MethodPost, url: d.url(id) + ":cancel", body: []byte("{}")})
	if isStatus(err, http.StatusNotFound) || isStatus(err, http.StatusBadRequest) { // the latter: it has ended
		return nil
	}
	return err
}

func (d *cloudRun) finish(ctx context.Context, s start, ended status) (any, error) {
	if s.resultURL == "" || ended.state == lost || ended.state == cancelled {
		if ended.failure != nil {
			return nil, ended.failure
		}
		return ended.result, nil
	}
	r := request{method: http.MethodGet, url: s.resultURL}
	a, err := d.client.repeat(ctx, r)
	if err != nil {
		if ended.failure != nil {
			return nil, ended.failure
		}
		if isStatus(err, http.StatusNotFound) {
			return nil, &worker.Error{Type: worker.TypeResult, Message: fmt.Sprintf("the job succeeded, and left no result: %v", err)}
		}
		return nil, err
	}
	var left outcome
	err = json.Unmarshal(a.body, &left)
	switch {
	case ended.failure != nil && err == nil && left.Error != nil:
		return nil, left.Error.failure(TypeJobFailed)
	case ended.failure != nil:
		return nil, ended.failure
	case err != nil:
		return nil, &worker.Error{Type: worker.TypeResult, Message: fmt.Sprintf("the job succeeded, and what it left is not as it should be: %v: %v", r, err)}
	case left.Result == nil:
		return nil, &worker.Error{Type: worker.TypeResult, Message: fmt.Sprintf("the job succeeded, and what it left has no result: %v", r)}
	}
	return left.Result, nil
}
