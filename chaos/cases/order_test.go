package cases

import (
	"context"
	"slices"
	"strings"
	"testing"

	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// The designs that cases may limit, and give priorities and turns, are those that have them.
func TestDesignsWithLimitsAndPriorities(t *testing.T) {
	dsn := pgtest.DSN(t)
	for _, design := range designs.Durable() {
		store, err := design.Open(context.Background(), designs.OpenOptions{DSN: dsn, Schema: pgtest.SchemaOf(t, design.String())})
		if err != nil {
			t.Fatal(err)
		}
		_, limits := store.(backend.Limiter)
		_, priorities := store.(backend.Prioritizer)
		_, turns := store.(backend.TurnTaker)
		if want := slices.Contains(ordering, design.Name()); limits != want || priorities != want || turns != want {
			t.Errorf("%s has limits: %v, and priorities: %v, and takes turns: %v", design, limits, priorities, turns)
		}
		store.Close()
	}
}

func TestLimit(t *testing.T) {
	c := Case{Workloads: []Workload{{Scenario: "fanout", Size: 5}, {Scenario: "chain", Size: 3}}, Backend: "push", LimitConcurrency: 3, LimitRate: "10/s"}.WithDefaults()
	l, err := c.Limit()
	if err != nil || l.Concurrency != 3 || l.Rate.String() != "10/s" || !slices.Equal(l.Actions, []string{"add", "double", "items", "sum"}) {
		t.Errorf("%+v, %v", l, err)
	}
	for want, change := range map[string]func(*Case){
		"backend eager has no limits; push and journal have":        func(c *Case) { c.Backend = "eager" },
		`limit_rate: rate "often"`:                                  func(c *Case) { c.LimitRate = "often" },
		"priorities is 10, must be from 0 to 9":                     func(c *Case) { c.Priorities = 10 },
		"backend pull:scan=sql has no priorities; push and journal": func(c *Case) { c.Backend, c.Priorities = "pull:scan=sql", 1 },
		"backend eager takes no turns; push and journal do":         func(c *Case) { *c = Case{Backend: "eager", Fair: true, Workloads: c.Workloads}.WithDefaults() },
		"a soak keeps only a part of its history":                   func(c *Case) { c.Soak = true },
		"the limit: concurrency is -1":                              func(c *Case) { c.LimitConcurrency, c.LimitRate = -1, "" },
	} {
		wrong := c
		change(&wrong)
		if err := wrong.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
