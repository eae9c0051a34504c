package sim

import (
	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/oracle"
	"pulley/engine/reference"
)

func (w *world) record(e oracle.Event) {
	if w.cfg.Record {
		w.result.History = append(w.result.History, e)
	}
}

func (w *world) about(k oracle.Kind, inst *instance) oracle.Event {
	return oracle.Event{Kind: k, AtNS: int64(w.now), Source: "sim", Instance: inst.id.String()}
}

func (w *world) of(k oracle.Kind, inst *instance, run graph.Run) oracle.Event {
	e := w.about(k, inst)
	e.Node, e.Path = inst.program.Graph().Nodes[run.Node].Name, string(run.Path)
	return e
}

func (w *world) endOf(k oracle.Kind, inst *instance, found backend.Instance) oracle.Event {
	e := w.about(k, inst)
	e.Status, e.Result, e.Error = reference.Status(found.Status), found.Result, errorOf(found.Failure)
	return e
}
