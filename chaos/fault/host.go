package fault

import (
	"context"
	"math/rand/v2"
)

// hostDisconnect has it happen to the container that an engine is in.
var hostDisconnect = Kind{
	Name:   "host.disconnect",
	Doc:    "an engine's container is taken off its network for longer than a lease, so that its connections hang, and put into it again, with the same address",
	Lacks:  inHost.lacks,
	Draw:   func(r *rand.Rand, t Timing, f *Fault) { f.HoldMS = beyondLease(r, t) },
	Inject: inHost.have(disconnectContainer),
}

// hostKill has it happen to the container that an engine is in.
var hostKill = Kind{
	Name:  "host.kill",
	Doc:   "an engine's container is killed with SIGKILL, every process in it, and started again, and the engine in it",
	Lacks: inHost.lacks,
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		c, err := w.Host(f.Engine)
		if err != nil {
			return err
		}
		e := w.Engine(f.Engine)
		exited, restarted := e.Exited(), make(chan error, 1)
		go func() { restarted <- c.Restart(context.WithoutCancel(ctx)) }() // it ends with the call, which is waited for
		select {
		case <-exited:
			over()
			err = <-restarted
		case err = <-restarted:
			if err == nil {
				over()
				err = ended(ctx, e)
			}
		}
		if err != nil {
			return err
		}
		return e.Start(ctx)
	},
}

// hostPause has it happen to the container that an engine is in.
var hostPause = Kind{
	Name:   "host.pause",
	Doc:    "every process of an engine's container stands still for longer than a lease, and goes on as if nothing had been",
	Lacks:  inHost.lacks,
	Draw:   func(r *rand.Rand, t Timing, f *Fault) { f.HoldMS = beyondLease(r, t) },
	Inject: inHost.have(pauseContainer),
}
