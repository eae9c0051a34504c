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

// Defaults of a Config.
const (
	HelloTimeoutDefault = 30 * time.Second
	GraceDefault        = 2 * time.Second
	ByeGraceDefault     = 30 * time.Second
	AtOnceDefault       = 10_000
	StartsDefault       = 8
	PauseMostDefault    = 10 * time.Second

	silenceBeats = 10              // tolerated missing heartbeats
	silenceLeast = 5 * time.Second // a busy machine delays heartbeats
)

// ProcessesMax bounds the processes of a pool.
const ProcessesMax = 1000

// Config configures a pool's workers.
type Config struct {
	// in the log and errors; empty: the program's
	Name string

	// Command is the worker's program and its arguments. A program without a slash is searched in PATH; a relative one with a
	// slash is relative to Dir.
	Command []string

	// the workers' working directory; empty: this process's
	Dir string

	// overrides this process's environment
	Env map[string]string

	// Limits bound each worker; their Processes include what it starts. A worker that exceeds one dies and is replaced.
	Limits procgroup.Limits

	// number of workers; zero: 1
	Processes int

	// bounds a worker's concurrent attempts; zero: its own number
	Slots int

	// AtOnce bounds the attempts in the pool, including waiting ones; zero: AtOnceDefault. Further attempts wait outside,
	// during which their timeout runs.
	AtOnce int

	// MaxDeliveries is the number of workers that may die with an attempt, including those of earlier engines, before it fails
	// with TypeWorkerDied; until then the pool delivers it again. Zero: each death is a worker.DiedError. Then the engine
	// delivers the attempt again, here or elsewhere, up to its own MaxDeliveries, whose count survives the engine.
	MaxDeliveries int

	// HelloTimeout bounds the time from a worker's start to its hello; zero: HelloTimeoutDefault.
	HelloTimeout time.Duration

	// Silence is the silence after which a worker that sends heartbeats counts as dead; zero: ten heartbeats, and at least five
	// seconds.
	Silence time.Duration

	// Grace bounds a worker's answer to a cancel, and its end after bye once it has no attempts, before it is killed. Zero
	// means GraceDefault, and ByeGraceDefault after bye: no attempt waits for an answer then, and a busy machine takes seconds
	// to end a process. Negative: it is killed at once.
	Grace time.Duration

	// Starts is the number of successive failed starts after which the pool gives up; zero: StartsDefault. Before the first
	// hello it is at most three. Attempts then fail with TypeStart, and occasionally trigger another start.
	Starts int

	// PauseMost bounds the pause before a worker is replaced, which begins with 100 ms and doubles with each successive worker
	// that ended without an answer; zero: PauseMostDefault.
	PauseMost time.Duration

	// Log receives each line that a worker writes to standard error, and each on standard output that is no message. It is
	// called concurrently and blocks its worker. May be nil.
	Log func(worker, line string)

	// Problem receives errors that are no attempt's: workers that died, and unexpected messages. It is called concurrently. May
	// be nil.
	Problem func(error)

	byeGrace time.Duration // after bye
}

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

func (c *Config) silence(heartbeat time.Duration) time.Duration {
	if c.Silence > 0 {
		return c.Silence
	}
	return max(silenceBeats*heartbeat, silenceLeast)
}
