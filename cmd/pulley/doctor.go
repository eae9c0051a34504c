package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"pulley/cmd/pulley/console"
	"pulley/engine/pgserver"
)

type doctorCmd struct {
	console.ServerFlags
	console.FormatFlag
}

func (doctorCmd) Help() string {
	return "Servers are started and ended again, and asked for their settings; nothing is fetched.\n\n" +
		"Exit status: 0 if the other commands will get a Postgres, 1 if not. Somebody who names a server means that server: " +
		"with a DSN, no other way is looked at."
}

type diagnosis struct {
	Takes *pgserver.Way      `json:"takes"` // the way that other commands take; null if there is none
	Ways  []pgserver.Finding `json:"ways"`
}

func (d *doctorCmd) Run(c *console.Console) error {
	ctx, stop := console.Interruptible()
	defer stop()
	options, named := pgserver.Options{DSN: d.DSN}, d.DSN != "" || os.Getenv("PULLEY_DSN") != ""
	if named { // it alone counts
		options.Ways = []pgserver.Way{pgserver.WayDSN}
	}
	found, err := pgserver.Probe(ctx, options)
	if ctx.Err() != nil {
		return console.Ended(ctx, err)
	}
	if err != nil {
		return err
	}
	result := diagnosis{Takes: taken(found), Ways: found}
	text, err := result.format(d.Format)
	if err != nil {
		return err
	}
	if err := c.Print(text); err != nil {
		return err
	}
	if result.Takes == nil {
		return &console.Status{Code: console.ExitFailed}
	}
	return nil
}

func taken(found []pgserver.Finding) *pgserver.Way {
	for _, f := range found {
		if f.Usable {
			return &f.Way
		}
	}
	return nil
}

func (d *diagnosis) format(format string) (string, error) {
	if format == "text" {
		return d.text(), nil
	}
	var b bytes.Buffer
	if err := console.EncodeJSON(&b, d); err != nil {
		return "", err
	}
	return b.String(), nil
}

func (d *diagnosis) text() string {
	var b strings.Builder
	line := func(head, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-9s %s\n", head, console.OneLine(text))
		}
	}
	for _, f := range d.Ways {
		verdict := "no"
		switch {
		case f.Verified && f.Usable:
			verdict = "yes"
		case f.Usable:
			verdict = "yes, once it is fetched"
		}
		line(string(f.Way), verdict)
		line("", f.Found)
		line("", f.Problem)
		line("", f.Advice)
		if f.Verified {
			line("", f.Durability.String())
			if weak := f.Durability.Weakness(); weak != "" {
				line("", "warning: "+weak)
			}
		}
	}
	if d.Takes == nil {
		line("takes", "none: a backend on Postgres cannot run here")
	} else {
		line("takes", string(*d.Takes))
	}
	return b.String()
}
