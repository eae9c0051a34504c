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

// The designs that cases may limit are those with limits.
func TestDesignsWithLimits(t *testing.T) {
	dsn := pgtest.DSN(t)
	for _, design := range designs.Durable() {
		store, err := design.Open(context.Background(), designs.OpenOptions{DSN: dsn, Schema: pgtest.SchemaOf(t, design.String())})
		if err != nil {
			t.Fatal(err)
		}
		if _, has := store.(backend.Limiter); has != slices.Contains(withLimits, design.Name()) {
			t.Errorf("%s has limits: %v", design, has)
		}
		store.Close()
	}
}

func TestLimit(t *testing.T) {
	c := Case{Workloads: []Workload{{Scenario: "fanout", Size: 5}, {Scenario: "chain", Size: 3}}, Backend: "push", LimitConcurrency: 3, LimitRate: "10/s"}.WithDefaults()
	l, err := c.Limit()
	if err != nil || l.Concurrency != 3 || l.Rate.String() != "10/s" || !slices.Contains(l.Actions, "double") || !slices.IsSorted(slices.Compact(slices.Sorted(slices.Values(l.Actions)))) {
		t.Errorf("%+v, %v", l, err)
	}
	for want, change := range map[string]func(*Case){
		"backend eager has no limits; push and journal have": func(c *Case) { c.Backend = "eager" },
		`limit_rate: rate "often"`:                           func(c *Case) { c.LimitRate = "often" },
		"the limit: concurrency is -1":                       func(c *Case) { c.LimitConcurrency, c.LimitRate = -1, "" },
	} {
		wrong := c
		change(&wrong)
		if err := wrong.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
