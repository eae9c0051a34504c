package adapter

import (
	"context"

	"pulley/adapter/protocol"
)

// System is a queue or a workflow engine that pulley drives. Its methods are called one after another.
type System interface {
	// Describe says who the adapter and its system are, what they can run, and what they promise. It connects to nothing. Version
	// is set by the caller.
	Describe() protocol.Hello

	// Create makes what the system needs in an empty store. Only one process of a run is asked to.
	Create(ctx context.Context, env *Env) error

	// Open begins to work. ctx ends when the process has to end at once, and not before Close has returned or run out of time.
	Open(ctx context.Context, env *Env, session Session) (Running, error)
}

// Configurer is a System that checks its settings, or whose promises depend on them.
type Configurer interface {
	System

	// Configure is called before Create and Open. It connects to nothing. The promises replace those of Describe.
	Configure(env *Env) (protocol.Promises, error)
}

// Running is a system at work in this process. Submit and Look are called concurrently; see [Serve] for how often.
type Running interface {
	// Submit returns when all instances are as durable as the system promises. An error says that none may be taken for accepted.
	// Each workload is in Env.Workloads.
	Submit(ctx context.Context, instances []protocol.Instance) error

	// Look says what the store has of instances now. Ids that it leaves out are unknown.
	Look(ctx context.Context, ids []string) ([]protocol.State, error)

	// Close takes no more tasks, lets those at work end, or gives them back when ctx ends, and closes connections. No other call
	// follows. Its error is a problem for people, since others take over what it left.
	Close(ctx context.Context) error
}

// Env is what a system works with. The maps belong to all and are not to be changed.
type Env struct {
	*Reporter

	Store     protocol.Store
	Settings  map[string]string             // each that Describe lists, by name
	Workloads map[string]*protocol.Workload // valid ones, by name
}

// Session is how a process works.
type Session struct {
	Process int // its number in the run, from 0
	Slots   int // tasks at once; at least 1
}
