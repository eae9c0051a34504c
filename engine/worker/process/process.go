package process

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pulley/engine/worker"
	"pulley/engine/worker/procgroup"
)

// The failure types of this package, in addition to those of package worker.
const (
	TypeExitStatus = "ExitStatus" // another exit status than 0, without a type
	TypeKilled     = "Killed"
	TypeStart      = "StartError"
)

// The defaults.
const (
	GraceDefault  = 2 * time.Second
	AtOnceDefault = 256
	// outputDefault is more than a value's limit, so that a too large value is reported as such.
	outputDefault = 4 << 20
)

// Config configures one action.
type Config struct {
	// Command is the program and its arguments. A program without a slash is searched in PATH; a relative one with a slash is
	// relative to Dir.
	Command []string

	// empty: this process's
	Dir string

	// overrides this process's environment
	Env map[string]string

	Limits Limits

	// AtOnce bounds the action's processes; zero: AtOnceDefault. Further attempts wait, during which their timeout runs.
	AtOnce int

	// Grace is the time between SIGTERM and SIGKILL; zero: GraceDefault; negative: none.
	Grace time.Duration

	// Log receives each line that a program writes to standard error, concurrently. May be nil.
	Log func(action, line string)
}

// Limits bound one process. Zero is no limit, except for Output.
type Limits struct {
	Time   time.Duration // from its start; then the attempt fails with Timeout
	Output int           // bytes of standard output; zero means 4 MiB

	// Processes bounds the program and what it starts; beyond it the attempt fails with LimitExceeded. See procgroup.Limits.
	Processes int

	// Memory, in bytes, and OpenFiles bound each process. See procgroup.Limits.
	Memory, OpenFiles int64
}

// Action runs the attempts of one action. It is safe for concurrent use.
type Action struct {
	config Config
	argv   []string // with the command that sets limits
	env    []string // without an attempt's variables
	keeper *procgroup.Supervisor
	slots  chan struct{}
}

// New makes an action of a program, whose processes the supervisor starts and ends. It fails if there is no such program.
func New(c Config, keeper *procgroup.Supervisor) (*Action, error) {
	switch {
	case len(c.Command) == 0 || c.Command[0] == "":
		return nil, errors.New("no program; name one and its arguments")
	case c.AtOnce < 0:
		return nil, fmt.Errorf("%d processes at once; choose one at least", c.AtOnce)
	case c.Limits.Time < 0 || c.Limits.Output < 0 || c.Limits.group().Check() != nil:
		return nil, errors.New("a limit is below zero; leave it out for none")
	}
	if c.AtOnce == 0 {
		c.AtOnce = AtOnceDefault
	}
	if c.Grace == 0 {
		c.Grace = GraceDefault
	}
	if c.Limits.Output == 0 {
		c.Limits.Output = outputDefault
	}
	program, err := procgroup.Find(c.Command[0], c.Dir)
	if err != nil {
		return nil, err
	}
	argv, err := c.Limits.group().Command(append([]string{program}, c.Command[1:]...))
	if err != nil {
		return nil, err
	}
	return &Action{config: c, argv: argv, env: baseEnvironment(c.Env), keeper: keeper, slots: make(chan struct{}, c.AtOnce)}, nil
}

func (l Limits) group() procgroup.Limits {
	return procgroup.Limits{Processes: l.Processes, Memory: l.Memory, OpenFiles: l.OpenFiles}
}

// Run implements worker.Func.
func (a *Action) Run(ctx context.Context, call worker.Call) (any, error) {
	select {
	case a.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, worker.EndOf(ctx)
	}
	defer func() { <-a.slots }()
	if a.config.Limits.Time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, a.config.Limits.Time, &worker.Error{
			Type: worker.TypeTimeout, Message: fmt.Sprintf("the program took longer than its limit of %v", a.config.Limits.Time),
		})
		defer cancel()
	}
	return a.attempt(ctx, call)
}

var variables = []string{"PULLEY_ACTION", "PULLEY_INSTANCE", "PULLEY_NODE", "PULLEY_PATH", "PULLEY_ATTEMPT", "PULLEY_KEY"}

// traceParent is the variable of an attempt's span, by OpenTelemetry's convention for environment variables.
const traceParent = "TRACEPARENT"

func baseEnvironment(more map[string]string) []string {
	return slices.DeleteFunc(procgroup.Environ(more), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(variables, name)
	})
}

func (a *Action) environment(ctx context.Context, call worker.Call) []string {
	values := [...]string{call.Action, call.Instance.String(), call.Node, string(call.Path), strconv.Itoa(call.Attempt), call.Key()}
	env := make([]string, len(a.env), len(a.env)+len(values)+1)
	copy(env, a.env)
	for i, value := range values {
		env = append(env, variables[i]+"="+value)
	}
	if parent := worker.TraceParent(ctx); parent != "" {
		env = append(slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, traceParent+"=") }), traceParent+"="+parent)
	}
	return env
}
