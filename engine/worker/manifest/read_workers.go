package manifest

import (
	"strings"

	"pulley/engine/ir"
	"pulley/engine/worker"
	"pulley/engine/worker/pool"
	"pulley/internal/yamlfile"
)

type workerPool struct {
	pos    ir.Pos
	config pool.Config
	named  bool // by an action
}

type workerAction struct {
	pos    ir.Pos
	action worker.Action
	worker string
	calls  string // the worker's name for it
}

func (r *reader) worker(f yamlfile.Field) {
	if strings.HasPrefix(f.Name, "x-") {
		return
	}
	p := &workerPool{pos: f.Pos, config: pool.Config{Name: f.Name, Dir: r.dir}}
	if !worker.IsActionName(f.Name) || strings.Contains(f.Name, ".") {
		r.Add(f.Pos, "%q is not a worker's name: write letters, digits and _", f.Name)
	}
	started := false
	c := &p.config
	known := r.Fields(f.Value, "worker "+f.Name,
		yamlfile.Key{Name: "command", Read: func(v *yamlfile.Value) {
			started, p.pos = true, v.Pos
			c.Command = r.command("command", v)
		}},
		yamlfile.Key{Name: "dir", Read: func(v *yamlfile.Value) { c.Dir = r.directory(v) }},
		yamlfile.Key{Name: "env", Read: func(v *yamlfile.Value) { c.Env = r.environment(v) }},
		yamlfile.Key{Name: "limits", Read: func(v *yamlfile.Value) {
			r.Fields(v, "limits of worker "+f.Name, r.groupLimits(&c.Limits)...)
		}},
		yamlfile.Key{Name: "processes", Read: func(v *yamlfile.Value) { c.Processes, _ = r.Int(v, "processes", 1, pool.ProcessesMax) }},
		yamlfile.Key{Name: "slots", Read: func(v *yamlfile.Value) { c.Slots, _ = r.Int(v, "slots", 1, atOnceMax) }},
		yamlfile.Key{Name: "at_once", Read: func(v *yamlfile.Value) { c.AtOnce, _ = r.Int(v, "at_once", 1, atOnceMax) }},
		yamlfile.Key{Name: "deliveries", Read: func(v *yamlfile.Value) { c.MaxDeliveries, _ = r.Int(v, "deliveries", 1, atOnceMax) }},
		yamlfile.Key{Name: "hello", Read: func(v *yamlfile.Value) { c.HelloTimeout = r.positive(v, "hello") }},
		yamlfile.Key{Name: "silence", Read: func(v *yamlfile.Value) { c.Silence = r.positive(v, "silence") }},
		yamlfile.Key{Name: "grace", Read: func(v *yamlfile.Value) { c.Grace = r.grace(v) }},
	)
	if known && !started {
		r.Add(f.Pos, "worker %s does not say what runs it; write command: [program, argument, …]", f.Name)
	}
	r.workers[f.Name] = p
	r.workerNames = append(r.workerNames, f.Name)
}

func (r *reader) workerAction(f yamlfile.Field) {
	a := workerAction{action: worker.Action{Name: f.Name}, calls: f.Name}
	r.Fields(f.Value, "action "+f.Name+" of a worker",
		yamlfile.Key{Name: "worker", Read: func(v *yamlfile.Value) {
			a.pos = v.Pos
			a.worker, _ = r.Line(v, "worker")
		}},
		yamlfile.Key{Name: "calls", Read: func(v *yamlfile.Value) { a.calls, _ = r.Line(v, "calls") }},
		yamlfile.Key{Name: "args", Read: func(v *yamlfile.Value) { a.action.Args = r.names(v) }},
		yamlfile.Key{Name: "doc", Read: func(v *yamlfile.Value) { a.action.Doc, _ = r.Line(v, "doc") }},
	)
	if a.worker != "" {
		r.workerActions = append(r.workerActions, a)
	}
}

func (r *reader) resolveWorkers() {
	for _, a := range r.workerActions {
		if p := r.workers[a.worker]; p != nil {
			p.named = true
			continue
		}
		r.Add(a.pos, "there is no worker %s; %s", a.worker, known("workers", a.worker, r.workerNames))
	}
}

func hasKey(v *yamlfile.Value, name string) bool {
	for _, f := range v.Fields() {
		if f.Name == name {
			return true
		}
	}
	return false
}
