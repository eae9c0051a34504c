package plan_test

import (
	"encoding/json"
	"testing"

	"pulley/engine/plan"
)

func TestValue(t *testing.T) {
	slot, other := plan.Slot{Var: 1, Scope: "2"}, plan.Slot{Var: 1}
	read := func(base string, appended ...string) plan.Inbox {
		var in plan.Inbox
		for i := len(appended) - 1; i >= 0; i-- { // rows come in any order
			in.Put(slot, i, json.RawMessage(appended[i]))
		}
		if base != "" {
			in.Put(slot, -1, json.RawMessage(base))
		}
		return in
	}
	behind := plan.Append{Slot: slot, Index: 1, Value: json.RawMessage("9")}
	for name, c := range map[string]struct {
		in   plan.Inbox
		plan plan.Plan
		want string
	}{
		"read":                {in: read(`[1]`, "2", "3"), want: `[1,2,3]`},
		"nothing was read":    {},
		"null is a value":     {in: read("null"), want: "null"},
		"appended":            {in: read(`[1]`, "2"), plan: plan.Plan{Appends: []plan.Append{behind}}, want: `[1,2,9]`},
		"written":             {in: read(`[1]`, "2"), plan: plan.Plan{Writes: []plan.Write{{Slot: slot, Value: json.RawMessage("7"), Drops: true}}}, want: "7"},
		"taken away":          {in: read("1"), plan: plan.Plan{Writes: []plan.Write{{Slot: slot}}}},
		"another is written":  {in: read("1"), plan: plan.Plan{Writes: []plan.Write{{Slot: other, Value: json.RawMessage("7")}}}, want: "1"},
		"one is missing":      {in: read(`[1]`), plan: plan.Plan{Appends: []plan.Append{behind}}},
		"appended to no list": {in: read("1", "2")},
	} {
		before := len(c.in.Appended[slot])
		got, ok := c.plan.Value(slot, &c.in)
		if ok != (c.want != "") || string(got) != c.want {
			t.Errorf("%s: it is %s, %t; want %q", name, got, ok, c.want)
		}
		if len(c.in.Appended[slot]) != before {
			t.Errorf("%s: the inbox was changed", name)
		}
	}
}
