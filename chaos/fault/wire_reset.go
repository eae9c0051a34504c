package fault

import "context"

// wireReset resets every connection of an engine at once.
var wireReset = Kind{
	Name: "wire.reset",
	Doc:  "every connection of an engine is reset",
	Inject: func(_ context.Context, w World, f Fault, over func()) error {
		return sever(w.Wire(f.Engine), true, over)
	},
}
