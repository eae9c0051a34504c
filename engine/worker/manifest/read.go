package manifest

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pulley/engine/ir"
	"pulley/engine/worker"
	"pulley/engine/worker/process"
	"pulley/engine/worker/procgroup"
	"pulley/internal/yamlfile"
)

const atOnceMax = 100_000

type reader struct {
	yamlfile.Report
	dir     string
	options Options

	processes     []processAction
	workers       map[string]*workerPool
	workerNames   []string // in file order
	workerActions []workerAction

	jobServers     map[string]*jobServer
	jobServerNames []string // in file order
	jobActions     []jobAction

	longestGrace time.Duration // in the file, or the default
}

type processAction struct {
	pos    ir.Pos
	action worker.Action
	config process.Config
}

func (r *reader) file(root *yamlfile.Value) {
	found := false
	r.Fields(root, "an actions file",
		yamlfile.Key{Name: "actions", Read: func(v *yamlfile.Value) {
			found = true
			for _, f := range r.Map(v, "actions") {
				r.action(f)
			}
		}},
		yamlfile.Key{Name: "workers", Read: func(v *yamlfile.Value) {
			found = true
			for _, f := range r.Map(v, "workers") {
				r.worker(f)
			}
		}},
		yamlfile.Key{Name: "jobs", Read: func(v *yamlfile.Value) {
			for _, f := range r.Map(v, "jobs") {
				r.jobServer(f)
			}
		}},
	)
	if root.IsMap() && !found {
		r.Add(root.Pos, "the file has no actions; write some below the key actions")
	}
	r.resolveWorkers()
	r.resolveJobs()
}

func (r *reader) action(f yamlfile.Field) {
	if strings.HasPrefix(f.Name, "x-") {
		return
	}
	if !worker.IsActionName(f.Name) {
		r.Add(f.Pos, "%q is not an action's name: write letters, digits, _ and single dots, as in mail.send", f.Name)
	}
	if hasKey(f.Value, "worker") && !hasKey(f.Value, "process") {
		r.workerAction(f)
		return
	}
	if hasKey(f.Value, "job") && !hasKey(f.Value, "process") {
		r.jobAction(f)
		return
	}
	p := processAction{pos: f.Pos, action: worker.Action{Name: f.Name}}
	p.config.Dir, p.config.Log = r.dir, r.options.Log
	started := false
	known := r.Fields(f.Value, "action "+f.Name,
		yamlfile.Key{Name: "process", Read: func(v *yamlfile.Value) {
			started, p.pos = true, v.Pos
			p.config.Command = r.command("process", v)
		}},
		yamlfile.Key{Name: "worker", Read: func(v *yamlfile.Value) {
			r.Add(v.Pos, "action %s has both process and worker; write one of them", f.Name)
		}},
		yamlfile.Key{Name: "job", Read: func(v *yamlfile.Value) {
			r.Add(v.Pos, "action %s has both process and job; write one of them", f.Name)
		}},
		yamlfile.Key{Name: "args", Read: func(v *yamlfile.Value) { p.action.Args = r.names(v) }},
		yamlfile.Key{Name: "doc", Read: func(v *yamlfile.Value) { p.action.Doc, _ = r.Line(v, "doc") }},
		yamlfile.Key{Name: "dir", Read: func(v *yamlfile.Value) { p.config.Dir = r.directory(v) }},
		yamlfile.Key{Name: "env", Read: func(v *yamlfile.Value) { p.config.Env = r.environment(v) }},
		yamlfile.Key{Name: "limits", Read: func(v *yamlfile.Value) { p.config.Limits = r.limits(v) }},
		yamlfile.Key{Name: "at_once", Read: func(v *yamlfile.Value) { p.config.AtOnce, _ = r.Int(v, "at_once", 1, atOnceMax) }},
		yamlfile.Key{Name: "grace", Read: func(v *yamlfile.Value) { p.config.Grace = r.grace(v) }},
	)
	switch {
	case !known:
	case !started:
		r.Add(f.Pos, "action %s does not say what runs it; write process: [program, argument, …], worker: NAME, or job: SERVER", f.Name)
	case len(p.config.Command) > 0:
		r.processes = append(r.processes, p)
	}
}

func (r *reader) command(key string, v *yamlfile.Value) (command []string) {
	if !v.IsList() {
		r.Add(v.Pos, "%s is a list of the program and its arguments, not %s; no shell takes a line apart: write [program, argument, …]", key, v.Kind())
		return nil
	}
	for i, item := range v.Items() {
		word, ok := item.Scalar()
		switch {
		case !ok:
			r.Add(item.Pos, "a word of a command is a text, not %s; write one", item.Kind())
			return nil
		case strings.Contains(word, "\x00"):
			r.Add(item.Pos, "a word of a command has a zero byte in it; leave it out")
			return nil
		case i == 0 && strings.TrimSpace(word) == "":
			r.Add(item.Pos, "the program's name is empty; write one")
			return nil
		}
		command = append(command, word)
	}
	if len(command) == 0 {
		r.Add(v.Pos, "the command is empty; write [program, argument, …]")
	}
	return command
}

// An empty list means no arguments.
func (r *reader) names(v *yamlfile.Value) []string {
	names := []string{}
	for _, item := range r.List(v) {
		name, ok := r.Line(item, "an argument")
		switch {
		case !ok:
		case !worker.IsActionName(name) || strings.Contains(name, "."):
			r.Add(item.Pos, "%q is not an argument's name: write letters, digits and _", name)
		default:
			names = append(names, name)
		}
	}
	return names
}

func (r *reader) directory(v *yamlfile.Value) string {
	dir, ok := r.Line(v, "dir")
	if !ok {
		return r.dir
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(r.dir, dir)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		r.Add(v.Pos, "there is no directory %s; make it, or name another", dir)
	}
	return dir
}

func (r *reader) environment(v *yamlfile.Value) map[string]string {
	env := map[string]string{}
	for _, f := range r.Map(v, "variables of the environment") {
		value, ok := f.Value.Scalar()
		switch {
		case !ok:
			r.Add(f.Value.Pos, "the variable %s is a text, not %s; write one", f.Name, f.Value.Kind())
		case f.Name == "" || strings.ContainsAny(f.Name, "=\x00") || strings.Contains(value, "\x00"):
			r.Add(f.Pos, "%q cannot be a variable of the environment; write a name without = and zero bytes", f.Name)
		case strings.HasPrefix(f.Name, "PULLEY_"):
			r.Add(f.Pos, "the variable %s is pulley's to set; choose a name that does not begin with PULLEY_", f.Name)
		default:
			env[f.Name] = value
		}
	}
	return env
}

func (r *reader) limits(v *yamlfile.Value) (l process.Limits) {
	var group procgroup.Limits
	r.Fields(v, "limits", append([]yamlfile.Key{
		{Name: "time", Read: func(v *yamlfile.Value) { l.Time = r.positive(v, "time") }},
		{Name: "output", Read: func(v *yamlfile.Value) {
			n, ok := r.Size(v, "output")
			if ok && (n == 0 || n > math.MaxInt32) {
				r.Add(v.Pos, "output is %d bytes; choose from 1 to %d", n, math.MaxInt32)
			}
			l.Output = int(n)
		}},
	}, r.groupLimits(&group)...)...)
	l.Processes, l.Memory, l.OpenFiles = group.Processes, group.Memory, group.OpenFiles
	return l
}

func (r *reader) groupLimits(l *procgroup.Limits) []yamlfile.Key {
	return []yamlfile.Key{
		{Name: "memory", Read: func(v *yamlfile.Value) {
			n, ok := r.Size(v, "memory")
			if ok && n == 0 {
				r.Add(v.Pos, "memory is 0 bytes; no program runs in that, so choose more")
			}
			l.Memory = n
		}},
		{Name: "open_files", Read: func(v *yamlfile.Value) {
			n, _ := r.Int(v, "open_files", 1, math.MaxInt32)
			l.OpenFiles = int64(n)
		}},
		{Name: "processes", Read: func(v *yamlfile.Value) { l.Processes, _ = r.Int(v, "processes", 1, math.MaxInt32) }},
	}
}

func (r *reader) positive(v *yamlfile.Value, what string) time.Duration {
	d, ok := r.Duration(v, what)
	if ok && d == 0 {
		r.Add(v.Pos, "%s is zero; choose more", what)
	}
	return d
}

// A grace of 0s is none.
func (r *reader) grace(v *yamlfile.Value) time.Duration {
	d, ok := r.Duration(v, "grace")
	if ok && d == 0 {
		return -1
	}
	r.longestGrace = max(r.longestGrace, d)
	return d
}
