package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"pulley/bench/pressure"
	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/reports/record"
)

type pressed struct{ running *pressure.Running }

// press also adapts the engines' connections.
func (r *runner) press(ctx context.Context, k *Case, b backend.Backend, open *designs.OpenOptions) (*pressed, error) {
	if !k.Pressure.OnStore() {
		return nil, nil
	}
	site := pressure.Site{DSN: open.DSN, Schema: open.Schema, Store: func(ctx context.Context, n int) error { return storeSleepers(ctx, b, n) }}
	running, err := pressure.Start(ctx, k.Pressure, site)
	if err != nil {
		return nil, err
	}
	open.DSN, open.Connections = running.DSN(), k.Pressure.Connections
	return &pressed{running}, nil
}

// end removes the pressure. It returns which part of it was missing at some time; empty: none.
func (p *pressed) end(ctx context.Context) (missing string) {
	if p == nil {
		return ""
	}
	report, err := p.running.Stop(context.WithoutCancel(ctx))
	if err != nil {
		report.Missing = append(report.Missing, err.Error())
	}
	if len(report.Missing) == 0 {
		return ""
	}
	return "the pressure was not there: " + strings.Join(report.Missing, "; ")
}

// endIn ends the pressure after a run, which is invalid if some was missing.
func (p *pressed) endIn(ctx context.Context, sample *record.Sample) {
	if missing := p.end(ctx); missing != "" {
		sample.Valid = false
		sample.Warnings = append(sample.Warnings, missing)
	}
}

// leaveOutReaders drops counters that concurrent readers distort.
func leaveOutReaders(k *Case, c *record.Counters) []string {
	if k.Pressure.Readers == 0 {
		return nil
	}
	c.RowsRead, c.SeqRowsRead, c.IndexRowsFetched, c.IndexEntriesRead, c.Statements, c.Commits = nil, nil, nil, nil, nil, nil
	return []string{"rows read, statements and commits are null: readers beside the load add to them"}
}

const sleeperSource = `fn main(input: [], output: []):
    sleep 30 * 24 * 3600
`

const sleepersAtOnce = 1000

func storeSleepers(ctx context.Context, b backend.Backend, n int) error {
	program, err := plan.CompileText("sleeper.ir", []byte(sleeperSource), ir.Limits{})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	for n > 0 {
		subs := make([]backend.Submission, min(n, sleepersAtOnce))
		for i := range subs {
			subs[i] = backend.Submission{ID: uuid.Must(uuid.NewV7()), Program: program, Input: json.RawMessage("{}")}
		}
		out, err := b.Submit(ctx, subs, backend.Grant{Owner: "pulley bench", Lease: time.Minute})
		if err != nil {
			return err
		}
		for _, o := range out.Outcomes {
			if o.Answer != backend.Applied {
				return errors.Join(fmt.Errorf("an instance that sleeps is answered %s", o.Answer), o.Err)
			}
		}
		n -= len(subs)
	}
	return nil
}
