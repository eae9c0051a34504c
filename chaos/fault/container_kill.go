package fault

import (
	"context"
)

// containerKill has it happen to the container that the server is in.
var containerKill = Kind{
	Name:  "container.kill",
	Doc:   "the server's container is killed with SIGKILL, every process in it, and started again",
	Lacks: noContainer,
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		c, err := w.Container()
		if err != nil {
			return err
		}
		if err := c.Restart(context.WithoutCancel(ctx)); err != nil {
			return err
		}
		over()
		return nil
	},
}
