package manifest

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pulley/engine/ir"
	"pulley/engine/worker"
	"pulley/engine/worker/httpjob"
	"pulley/internal/yamlfile"
)

type jobServer struct {
	pos    ir.Pos
	config httpjob.Config
}

type jobAction struct {
	pos    ir.Pos
	action worker.Action
	server string
	job    httpjob.Job
}

func (r *reader) jobServer(f yamlfile.Field) {
	if strings.HasPrefix(f.Name, "x-") {
		return
	}
	if !worker.IsActionName(f.Name) || strings.Contains(f.Name, ".") {
		r.Add(f.Pos, "%q is not the name of a server of jobs: write letters, digits and _", f.Name)
	}
	s := &jobServer{pos: f.Pos}
	c := &s.config
	if log := r.options.Log; log != nil {
		c.Log = func(line string) { log(f.Name, line) }
	}
	known := r.Fields(f.Value, "server of jobs "+f.Name,
		yamlfile.Key{Name: "url", Read: func(v *yamlfile.Value) { c.URL, _ = r.Line(v, "url") }},
		yamlfile.Key{Name: "dialect", Read: func(v *yamlfile.Value) {
			text, ok := r.Line(v, "dialect")
			c.Dialect = httpjob.Dialect(text)
			if ok && c.Dialect != httpjob.Plain && c.Dialect != httpjob.CloudRun {
				r.Add(v.Pos, "there is no dialect %q; choose %s or %s", text, httpjob.Plain, httpjob.CloudRun)
				c.Dialect = ""
			}
		}},
		yamlfile.Key{Name: "token", Read: func(v *yamlfile.Value) { c.Token = r.token(v) }},
		yamlfile.Key{Name: "poll", Read: func(v *yamlfile.Value) { c.Poll = r.positive(v, "poll") }},
		yamlfile.Key{Name: "request_timeout", Read: func(v *yamlfile.Value) { c.RequestTimeout = r.positive(v, "request_timeout") }},
		yamlfile.Key{Name: "patience", Read: func(v *yamlfile.Value) { c.GraceTime = r.positive(v, "patience") }},
		yamlfile.Key{Name: "settle", Read: func(v *yamlfile.Value) { c.VisibilityDelay = r.positive(v, "settle") }},
		yamlfile.Key{Name: "look_back", Read: func(v *yamlfile.Value) { c.LookupWindow = r.positive(v, "look_back") }},
		yamlfile.Key{Name: "requests", Read: func(v *yamlfile.Value) { c.Requests, _ = r.Int(v, "requests", 1, 10_000) }},
	)
	if known && c.URL == "" && c.Dialect != httpjob.CloudRun && !hasKey(f.Value, "url") {
		r.Add(f.Pos, "server of jobs %s has no address; write url: https://…", f.Name)
	}
	r.jobServers[f.Name] = s
	r.jobServerNames = append(r.jobServerNames, f.Name)
}

func (r *reader) token(v *yamlfile.Value) (source httpjob.TokenSource) {
	known := r.Fields(v, "token",
		yamlfile.Key{Name: "env", Read: func(v *yamlfile.Value) {
			name, ok := r.Line(v, "env")
			if value := os.Getenv(name); value != "" {
				source = httpjob.StaticToken(value)
			} else if ok {
				r.Add(v.Pos, "the variable %s is not set, or empty; set it to the token", name)
				source = httpjob.StaticToken("")
			}
		}},
		yamlfile.Key{Name: "command", Read: func(v *yamlfile.Value) {
			command := r.command("command", v)
			if len(command) > 0 && strings.Contains(command[0], "/") && !filepath.IsAbs(command[0]) {
				command[0] = "." + string(filepath.Separator) + filepath.Join(r.dir, command[0])
				if filepath.IsAbs(r.dir) {
					command[0] = command[0][2:]
				}
			}
			source = httpjob.CommandToken(command)
		}},
		yamlfile.Key{Name: "metadata", Read: func(v *yamlfile.Value) {
			address, ok := r.Line(v, "metadata")
			switch {
			case address == "google":
				address = ""
			case ok && !strings.HasPrefix(address, "http://") && !strings.HasPrefix(address, "https://"):
				r.Add(v.Pos, "metadata is google, or the address of a server that gives tokens, not %q", address)
			}
			source = httpjob.MetadataToken(address)
		}},
	)
	if fields := len(v.Fields()); known && (source == nil || fields > 1) {
		r.Add(v.Pos, "token has %d keys; write one of env, command and metadata", fields)
	}
	return source
}

func (r *reader) jobAction(f yamlfile.Field) {
	a := jobAction{action: worker.Action{Name: f.Name}}
	j := &a.job
	r.Fields(f.Value, "action "+f.Name+" of a server of jobs",
		yamlfile.Key{Name: "job", Read: func(v *yamlfile.Value) {
			a.pos = v.Pos
			a.server, _ = r.Line(v, "job")
		}},
		yamlfile.Key{Name: "runs", Read: func(v *yamlfile.Value) { j.Name, _ = r.Line(v, "runs") }},
		yamlfile.Key{Name: "args", Read: func(v *yamlfile.Value) { a.action.Args = r.names(v) }},
		yamlfile.Key{Name: "doc", Read: func(v *yamlfile.Value) { a.action.Doc, _ = r.Line(v, "doc") }},
		yamlfile.Key{Name: "limit", Read: func(v *yamlfile.Value) { j.Limit = r.positive(v, "limit") }},
		yamlfile.Key{Name: "at_once", Read: func(v *yamlfile.Value) { j.AtOnce, _ = r.Int(v, "at_once", 1, atOnceMax) }},
		yamlfile.Key{Name: "overrides", Read: func(v *yamlfile.Value) { j.Overrides = r.overrides(v) }},
	)
	if a.server != "" {
		r.jobActions = append(r.jobActions, a)
	}
}

func (r *reader) overrides(v *yamlfile.Value) (o httpjob.Overrides) {
	r.Fields(v, "overrides",
		yamlfile.Key{Name: "container", Read: func(v *yamlfile.Value) { o.Container, _ = r.Line(v, "container") }},
		yamlfile.Key{Name: "args", Read: func(v *yamlfile.Value) {
			o.Args = []string{}
			for _, item := range r.List(v) {
				word, ok := item.Scalar()
				if !ok {
					r.Add(item.Pos, "an argument is a text, not %s; write one", item.Kind())
				}
				o.Args = append(o.Args, word)
			}
		}},
		yamlfile.Key{Name: "env", Read: func(v *yamlfile.Value) { o.Env = r.environment(v) }},
		yamlfile.Key{Name: "tasks", Read: func(v *yamlfile.Value) { o.TaskCount, _ = r.Int(v, "tasks", 1, math.MaxInt32) }},
		yamlfile.Key{Name: "timeout", Read: func(v *yamlfile.Value) {
			if o.Timeout = r.positive(v, "timeout"); o.Timeout%time.Second != 0 {
				r.Add(v.Pos, "timeout is %v; Cloud Run takes whole seconds", o.Timeout)
				o.Timeout = 0
			}
		}},
		yamlfile.Key{Name: "result", Read: func(v *yamlfile.Value) { o.ResultURL, _ = r.Line(v, "result") }},
	)
	return o
}

func (r *reader) resolveJobs() {
	for _, a := range r.jobActions {
		if r.jobServers[a.server] == nil {
			r.Add(a.pos, "there is no server of jobs %s; %s", a.server, known("servers of jobs", a.server, r.jobServerNames))
		}
	}
}
