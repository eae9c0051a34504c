package pool

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"pulley/engine/worker/procgroup"
)

// What a Config means that does not say.
const (
	HelloTimeoutDefault = 30 * time.Second
	GraceDefault        = 2 * time.Second
	ByeGraceDefault     = 30 * time.Second
	AtOnceDefault       = 10_000
	StartsDefault       = 8
	PauseMostDefault    = 10 * time.Second

	silenceBeats = 10              // heartbeats that may be missed
	silenceLeast = 5 * time.Second // a busy machine holds up heartbeats
)

// ProcessesMax bounds the processes of a pool.
const ProcessesMax = 1000

// Config says what the workers of a pool are.
type Config struct {
	// Name is what the log and errors call the pool; empty: the name of the program.
	Name string

	// Command is the worker's program and its arguments. A program without a slash is looked for in PATH; one with a slash that is
	// not absolute is below Dir.
	Command []string

	// Dir is where workers run; empty: where this process does.
	Dir string

	// Env is added to this process's environment, and replaces what it has.
	Env map[string]string

	// Limits bound each worker; their Processes are the worker and what it starts. A worker that ends by one of them has died, and is
	// replaced as any other.
	Limits procgroup.Limits

	// Processes is how many workers there are; zero means 1.
	Processes int

	// Slots is how many attempts a worker takes at once, at most; zero: as many as it says itself.
	Slots int

	// AtOnce bounds the attempts in the pool, those that wait for a worker among them; zero means AtOnceDefault. An attempt
	// beyond it waits outside, and its timeout runs meanwhile.
	AtOnce int

	// MaxDeliveries is how many workers may die with an attempt, those of engines before this one among them, until it fails with
	// TypeWorkerDied; the pool delivers it again by itself. Zero: each death is a worker.DiedError, so that the engine delivers the
	// attempt again, here or elsewhere, and bounds that by its own MaxDeliveries, whose count survives the engine.
	MaxDeliveries int

	// HelloTimeout is how long a worker may take from its start to its hello; zero means HelloTimeoutDefault.
	HelloTimeout time.Duration

	// Silence is how long a worker that sends heartbeats may send nothing before it is taken for dead; zero: ten of its
	// heartbeats, and five seconds at least.
	Silence time.Duration

	// Grace is how long a worker may take to answer a cancel, and to end after bye when it has no attempt any more, before it is
	// killed; zero means GraceDefault, and ByeGraceDefault after bye, where nobody waits for an answer and a busy machine takes
	// seconds to end a process; a negative one means that it is killed at once.
	Grace time.Duration

	// Starts is how many starts in a row may fail before the pool gives up; zero means StartsDefault. At first, when no worker has
	// said hello yet, it is three at most. Attempts fail with TypeStart then, and start a further try at times.
	Starts int

	// PauseMost bounds the pause before a worker is replaced, which begins with 100 ms and doubles with each in a row that ended before
	// it had answered anything; zero means PauseMostDefault.
	PauseMost time.Duration

	// Log is called with each line that a worker writes to standard error, and with each on standard output that is no message. It
	// is called from several goroutines, and a worker waits while its call takes. Nil: nobody is told.
	Log func(worker, line string)

	// Problem is called with what goes wrong beside attempts: workers that died, and messages that nobody expects. It is called from
	// several goroutines. Nil: nobody is told.
	Problem func(error)

	byeGrace time.Duration // after bye
}

// validate refuses what cannot be, and sets the defaults.
func (c *Config) validate() error {
	switch {
	case len(c.Command) == 0 || c.Command[0] == "":
		return errors.New("no program; name one and its arguments")
	case c.Processes < 0 || c.Processes > ProcessesMax:
		return fmt.Errorf("%d processes; choose from 1 to %d", c.Processes, ProcessesMax)
	case c.Slots < 0:
		return fmt.Errorf("%d slots; choose one at least", c.Slots)
	case c.AtOnce < 0:
		return fmt.Errorf("%d attempts at once; choose one at least", c.AtOnce)
	case c.MaxDeliveries < 0:
		return fmt.Errorf("%d deliveries; choose one at least", c.MaxDeliveries)
	case c.Starts < 0:
		return fmt.Errorf("%d starts; choose one at least", c.Starts)
	case c.HelloTimeout < 0 || c.Silence < 0 || c.PauseMost < 0:
		return errors.New("a time is below zero; leave it out for the default")
	}
	if err := c.Limits.Check(); err != nil {
		return err
	}
	c.Name = cmp.Or(c.Name, strings.TrimSuffix(filepath.Base(c.Command[0]), filepath.Ext(c.Command[0])))
	c.Processes = cmp.Or(c.Processes, 1)
	c.AtOnce = cmp.Or(c.AtOnce, AtOnceDefault)
	c.HelloTimeout = cmp.Or(c.HelloTimeout, HelloTimeoutDefault)
	c.byeGrace = max(cmp.Or(c.Grace, ByeGraceDefault), 0)
	c.Grace = max(cmp.Or(c.Grace, GraceDefault), 0)
	c.PauseMost = cmp.Or(c.PauseMost, PauseMostDefault)
	c.Starts = cmp.Or(c.Starts, StartsDefault)
	return nil
}

// silence is how long a worker with heartbeats may be silent.
func (c *Config) silence(heartbeat time.Duration) time.Duration {
	if c.Silence > 0 {
		return c.Silence
	}
	return max(silenceBeats*heartbeat, silenceLeast)
}
