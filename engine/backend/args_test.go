package backend_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

func slot(v graph.VarID, scope graph.Path) *plan.Slot { return &plan.Slot{Var: v, Scope: scope} }

func inbox(s plan.Slot) (json.RawMessage, bool) {
	v, ok := map[plan.Slot]json.RawMessage{
		{Var: 3}:               json.RawMessage(`"three"`),
		{Var: 3, Scope: "0.2"}: json.RawMessage(`[3, 0, 2]`),
	}[s]
	return v, ok
}

func TestAssembleArgs(t *testing.T) {
	for _, c := range []struct {
		name string
		args []plan.Arg
		want string // or a part of the error, after an exclamation mark
	}{
		{"none", nil, `{}`},
		{"order and spelling", []plan.Arg{
			{Name: "z", Value: json.RawMessage(`1.0`)}, {Name: "a", Value: json.RawMessage(`123456789012345678901234567890`)},
		}, `{"z":1.0,"a":123456789012345678901234567890}`},
		{"null", []plan.Arg{{Name: "x", Value: json.RawMessage(`null`)}}, `{"x":null}`},
		{"by reference", []plan.Arg{
			{Name: "big", Ref: slot(3, "")}, {Name: "n", Value: json.RawMessage(`1`)}, {Name: "other", Ref: slot(3, "0.2")},
		}, `{"big":"three","n":1,"other":[3, 0, 2]}`},
		{"odd name", []plan.Arg{{Name: "a\"<&\x01ä", Value: json.RawMessage(`1`)}}, `{"a\"<&\u0001ä":1}`},
		{"missing reference", []plan.Arg{{Name: "big", Ref: slot(4, "1")}}, `!argument "big" refers to variable 4 at 1`},
		{"nothing", []plan.Arg{{Name: "x"}}, `!argument "x" has neither`},
	} {
		got, err := backend.AssembleArgs(c.args, inbox)
		if part, bad := strings.CutPrefix(c.want, "!"); bad {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %s, %v; want an error with %q", c.name, got, err, part)
			}
			continue
		}
		if err != nil || string(got) != c.want || !json.Valid(got) {
			t.Errorf("%s: %s, %v; want %s", c.name, got, err, c.want)
		}
	}
}

func TestAssembleArgsSharesNothing(t *testing.T) {
	value, referred := json.RawMessage(`"ab"`), json.RawMessage(`"cd"`)
	got, err := backend.AssembleArgs(
		[]plan.Arg{{Name: "v", Value: value}, {Name: "r", Ref: slot(1, "")}},
		func(plan.Slot) (json.RawMessage, bool) { return referred, true },
	)
	if err != nil {
		t.Fatal(err)
	}
	copy(value, `"xx"`)
	copy(referred, `"xx"`)
	if string(got) != `{"v":"ab","r":"cd"}` {
		t.Errorf("the object changed to %s", got)
	}
}

func TestEncodeArgsRoundTrip(t *testing.T) {
	values := []string{`null`, `0`, `1.0`, `-0.5e-7`, `"\u0000 <&> ä"`, `[1,{"b":2,"a":1}]`, `123456789012345678901234567890`, `""`}
	rapid.Check(t, func(t *rapid.T) {
		args := make([]plan.Arg, rapid.IntRange(0, 5).Draw(t, "count"))
		var refs []plan.Slot
		for i := range args {
			args[i].Name = rapid.String().Filter(func(s string) bool { return strings.ToValidUTF8(s, "") == s }).Draw(t, "name")
			if rapid.Bool().Draw(t, "ref") {
				path := rapid.SampledFrom([]graph.Path{"", "0", "12.3"}).Draw(t, "scope")
				args[i].Ref = slot(graph.VarID(rapid.Int32Range(0, 9).Draw(t, "var")), path)
				refs = append(refs, *args[i].Ref)
			} else {
				args[i].Value = json.RawMessage(rapid.SampledFrom(values).Draw(t, "value"))
			}
		}
		data, err := backend.EncodeArgs(args)
		if err != nil {
			t.Fatal(err)
		}
		back, err := backend.DecodeArgs(data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(args, back); diff != "" {
			t.Errorf("%s reads back otherwise:\n%s", data, diff)
		}
		if diff := cmp.Diff(refs, backend.Refs(back)); diff != "" {
			t.Errorf("other references:\n%s", diff)
		}
	})
}

func TestEncodeArgsErrors(t *testing.T) {
	for _, args := range [][]plan.Arg{
		{{Name: "x"}},
		{{Name: "x", Value: json.RawMessage(`{`)}, {Name: "y", Ref: slot(1, "")}},
	} {
		if got, err := backend.EncodeArgs(args); err == nil {
			t.Errorf("%+v became %s", args, got)
		}
	}
	for _, data := range []string{``, `{`, `{"n":}`, `[1]`, `[{"n":1}]`} {
		if got, err := backend.DecodeArgs([]byte(data)); err == nil {
			t.Errorf("%q became %v", data, got)
		}
	}
}

func TestChecks(t *testing.T) {
	for _, c := range []struct {
		g    backend.Grant
		fine bool
	}{
		{backend.Grant{}, true},
		{backend.Grant{Max: 1, Lease: 1}, true},
		{backend.Grant{Max: 1}, false},
		{backend.Grant{Max: 1, Lease: -time.Second}, false},
		{backend.Grant{Max: -1, Lease: time.Second}, false},
	} {
		if err := c.g.Check(); (err == nil) != c.fine {
			t.Errorf("%+v: %v", c.g, err)
		}
	}
	for shard, fine := range map[int]bool{-1: false, 0: true, 3: true, 4: false} {
		if err := backend.CheckShard(shard, 4); (err == nil) != fine {
			t.Errorf("shard %d of 4: %v", shard, err)
		}
	}
}

// TestShardOf pins the function, on which databases rely.
func TestShardOf(t *testing.T) {
	for _, c := range []struct {
		id    string
		n     int
		shard int
	}{
		{"00000000-0000-0000-0000-000000000000", 0, 0},
		{"00000000-0000-0000-0000-000000000000", 1, 0},
		{"00000000-0000-0000-0000-000000000000", 64, 5},
		{"6ba7b810-9dad-11d1-80b4-00c04fd430c8", 16, 12},
		{"6ba7b810-9dad-11d1-80b4-00c04fd430c8", 64, 28},
		{"ffffffff-ffff-ffff-ffff-ffffffffffff", 7, 6},
	} {
		if got := backend.ShardOf(uuid.MustParse(c.id), c.n); got != c.shard {
			t.Errorf("%s is in shard %d of %d; it was in %d", c.id, got, c.n, c.shard)
		}
	}
	seen := make([]int, 8)
	for i := range 8000 {
		seen[backend.ShardOf(uuid.NewSHA1(uuid.Nil, fmt.Append(nil, i)), 8)]++
	}
	for shard, n := range seen {
		if n < 800 || n > 1200 {
			t.Errorf("shard %d has %d of 8000 instances; want about 1000", shard, n)
		}
	}
}

func TestUnknown(t *testing.T) {
	if !backend.IsUnknown(fmt.Errorf("commit: %w", backend.ErrUnknown)) || backend.IsUnknown(backend.ErrOverflow) || backend.IsUnknown(nil) {
		t.Error("IsUnknown does not tell unknown outcomes from others")
	}
}
