package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pulley/bench"
	"pulley/engine/pgserver"
	"pulley/engine/pgserver/pgtest"
)

// templateName is the database that every test clones.
const templateName = "pulley_template"

// serveWithin bounds the start of the server and the making of the template, on a machine with other work.
const serveWithin = 4 * time.Minute

// withServer starts the Postgres that all packages share, has work use it, and ends it. work gets the environment that leads
// test binaries there. A server that the user named in PULLEY_DSN is left to the tests as it is: it gets no template.
func (p *place) withServer(ctx context.Context, work func(env map[string]string) error) (err error) {
	starting, cancel := context.WithTimeout(ctx, serveWithin)
	defer cancel()
	s, err := pgserver.Open(starting, pgserver.Options{Settings: pgtest.Settings(), TempDir: p.dir, StartTimeout: serveWithin})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(context.WithoutCancel(ctx))) }()
	if !s.Started() {
		return work(nil)
	}
	env, err := pgtest.MakeTemplate(starting, s, templateName, setUpDesigns)
	if err != nil {
		return fmt.Errorf("making the database that tests clone: %w", err)
	}
	return work(env)
}

// setUpDesigns makes the schema of every design in a database.
func setUpDesigns(ctx context.Context, dsn string) error {
	for _, design := range bench.Designs() {
		if !design.NeedsPostgres() {
			continue
		}
		b, err := design.Open(ctx, bench.OpenOptions{DSN: dsn, Schema: pgtest.TemplateSchema(design.String())})
		if err != nil {
			return fmt.Errorf("%s: %w", design, err)
		}
		b.Close()
	}
	return nil
}
