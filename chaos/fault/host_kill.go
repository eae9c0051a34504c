package fault

import "context"

// hostKill has it happen to the container that an engine is in.
var hostKill = Kind{
	Name:  "host.kill",
	Doc:   "an engine's container is killed with SIGKILL, every process in it, and started again, and the engine in it",
	Lacks: noHost,
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		c, err := w.Host(f.Engine)
		if err != nil {
			return err
		}
		e := w.Engine(f.Engine)
		gone, restarted := e.Gone(), make(chan error, 1)
		go func() { restarted <- c.Restart(context.WithoutCancel(ctx)) }() // it ends with the call, which is waited for
		select {
		case <-gone:
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
