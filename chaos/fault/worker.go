package fault

import "context"

var workerKill = Kind{
	Name: "worker.kill",
	Doc:  "one of the processes that run an engine's actions is killed with SIGKILL while it has some, and another takes its place",
	Lacks: func(w World) string {
		if w.HasWorkers() {
			return ""
		}
		return "the engines run all actions themselves; name a workflow in Python, whose actions run in processes"
	},
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		return orderFault(ctx, w.Engine(f.Engine), Order{KillWorker: true}, f, over)
	},
}
