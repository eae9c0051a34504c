package fault

import "context"

// processStop stops an engine in an orderly way while it has work.
var processStop = Kind{
	Name: "process.stop",
	Doc:  "an engine stops in an orderly way under load, and another process takes its place",
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		e := w.Engine(f.Engine)
		if err := e.Stop(ctx); err != nil {
			return err
		}
		over()
		return e.Start(ctx)
	},
}
