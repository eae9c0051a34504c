package fault

import (
	"context"
	"fmt"
)

// wireCut closes every connection of an engine at once.
var wireCut = Kind{
	Name: "wire.cut",
	Doc:  "every connection of an engine is closed",
	Inject: func(_ context.Context, w World, f Fault, over func()) error {
		return sever(w.Wire(f.Engine), false, over)
	},
}

func sever(w *Wire, reset bool, over func()) error {
	if w.proxy.Sever(reset) == 0 {
		return fmt.Errorf("%w: the engine had no connection", ErrMissed)
	}
	over()
	return nil
}
