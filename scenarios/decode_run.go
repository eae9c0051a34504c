package scenarios

import (
	"bytes"
	"slices"
	"time"

	"pulley/internal/yamlfile"
	"pulley/scenarios/arrivals"
	"pulley/scenarios/dist"
)

func (d *decoder) readArrivals() {
	v := d.raw.arrivals
	if v == nil {
		return
	}
	text, ok := d.Line(v, "arrivals")
	if !ok {
		return
	}
	parsed, err := arrivals.Parse(text, func(name string) ([]time.Duration, error) {
		file := alongside(d.file, name)
		data, err := d.files.read(file, samplesBytesMax)
		if err != nil {
			return nil, err
		}
		return arrivals.ReadTrace(d.files.display(file), bytes.NewReader(data))
	})
	if err != nil {
		d.Add(v.Pos, "arrivals: %s", err)
		return
	}
	d.arrivals, d.arriving = text, parsed
}

const (
	phaseMax    = 7 * 24 * time.Hour
	inFlightMax = 1_000_000
	workersMax  = 10_000
	enginesMax  = 64
)

func (d *decoder) readRun() {
	v := d.raw.run
	if v == nil {
		return
	}
	r := &d.run
	phase := func(into *time.Duration, what string) func(*yamlfile.Value) {
		return func(v *yamlfile.Value) {
			t, ok := d.Duration(v, what)
			if ok && t > phaseMax {
				d.Add(v.Pos, "%s is %v; choose a week at most", what, t)
			}
			*into = t
		}
	}
	d.Fields(v, "run",
		yamlfile.Key{Name: "warm_up", Read: func(v *yamlfile.Value) {
			if text, _ := v.Scalar(); text == "auto" {
				r.WarmUpAuto = true
				return
			}
			phase(&r.WarmUp, "warm_up, if it is not auto,")(v)
		}},
		yamlfile.Key{Name: "measure", Read: phase(&r.Measure, "measure")},
		yamlfile.Key{Name: "drain", Read: phase(&r.Drain, "drain")},
		yamlfile.Key{Name: "in_flight", Read: func(v *yamlfile.Value) {
			for _, item := range d.List(v) {
				if n, ok := d.Int(item, "in_flight", 1, inFlightMax); ok {
					r.InFlight = append(r.InFlight, n)
				}
			}
		}},
		yamlfile.Key{Name: "workers", Read: func(v *yamlfile.Value) { r.Workers = d.orKeep(v, "workers", 0, 1, workersMax) }},
		yamlfile.Key{Name: "engines", Read: func(v *yamlfile.Value) { r.Engines = d.orKeep(v, "engines", 0, 1, enginesMax) }},
	)
}

func (d *decoder) readPressure() {
	v := d.raw.pressure
	if v == nil {
		return
	}
	p := &d.pressure
	number := func(into *int, what string, least, most int) func(*yamlfile.Value) {
		return func(v *yamlfile.Value) { *into = d.orKeep(v, what, 0, least, most) }
	}
	span := func(into *time.Duration, what string, most time.Duration) func(*yamlfile.Value) {
		return func(v *yamlfile.Value) {
			t, ok := d.Duration(v, what)
			if ok && t > most {
				d.Add(v.Pos, "%s is %v; choose %v at most", what, t, most)
			}
			*into = t
		}
	}
	d.Fields(v, "pressure",
		yamlfile.Key{Name: "held_transaction", Read: func(v *yamlfile.Value) { p.HeldTransaction, _ = d.Bool(v, "held_transaction") }},
		yamlfile.Key{Name: "readers", Read: number(&p.Readers, "readers", 0, readersMax)},
		yamlfile.Key{Name: "read_every", Read: span(&p.ReadEvery, "read_every", time.Hour)},
		yamlfile.Key{Name: "connections", Read: number(&p.Connections, "connections", 2, connectionsMax)},
		yamlfile.Key{Name: "round_trip", Read: span(&p.RoundTrip, "round_trip", roundTripMax)},
		yamlfile.Key{Name: "sleepers", Read: number(&p.Sleepers, "sleepers", 0, sleepersMax)},
		yamlfile.Key{Name: "payload", Read: func(v *yamlfile.Value) {
			if p.Payload = d.law(v, "payload", dist.Bytes); p.Payload != nil && !slices.ContainsFunc(d.actions, takesPayload) {
				d.Add(v.Pos, "payload has no action to press on; describe one of the scenario's own under actions that says nothing of its payload")
			}
		}},
	)
}
