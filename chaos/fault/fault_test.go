package fault

import (
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pulley/engine/pgserver/pgwire"
)

var timing = Timing{Lease: time.Second, Call: time.Second}

func TestDrawIsTheSamePlanForASeed(t *testing.T) {
	kinds := Kinds()
	one, two := Draw(7, kinds, 3*len(kinds), 4, timing), Draw(7, kinds, 3*len(kinds), 4, timing)
	if !reflect.DeepEqual(one, two) {
		t.Error("two plans of one seed differ")
	}
	if reflect.DeepEqual(one, Draw(8, kinds, 3*len(kinds), 4, timing)) {
		t.Error("plans of two seeds are the same")
	}
	count := map[string]int{}
	for _, f := range one {
		if count[f.Kind]++; f.Engine < 0 || f.Engine > 3 || f.HoldMS < 0 {
			t.Errorf("%+v is out of its bounds", f)
		}
	}
	for _, k := range kinds {
		if count[k.Name] != 3 {
			t.Errorf("%s is there %d times, want 3", k.Name, count[k.Name])
		}
	}
	if len(Draw(7, nil, 5, 4, timing)) != 0 {
		t.Error("a plan of no kinds has faults")
	}
}

func TestSelect(t *testing.T) {
	all := Names(Kinds())
	for words, want := range map[string]int{"all": len(all), "none": 0, "wire.cut": 1, "wire.cut process.kill": 2, "wire wire.cut": 9} {
		got, err := Select(strings.Fields(words))
		if err != nil || len(got) != want {
			t.Errorf("%s: %v, %v, want %d kinds", words, Names(got), err, want)
		}
	}
	for _, words := range []string{"wired", "none wire", "wire.", ""} {
		if got, err := Select([]string{words}); err == nil {
			t.Errorf("%q selects %v", words, Names(got))
		}
	}
	for _, k := range Kinds() {
		if k.Doc == "" || k.Inject == nil || k.Group() == "" || k.Group() == k.Name {
			t.Errorf("%+v lacks something", k)
		}
	}
	slices.Sort(all)
	if len(slices.Compact(all)) != len(Kinds()) {
		t.Error("two kinds have one name")
	}
}

func TestEveryDrawnFaultHasItsLength(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, k := range Kinds() {
		for range 100 {
			f := k.draw(r, 2, timing)
			if f.Hold() > 3*timing.Lease || f.K < 0 || f.When.Event != "" && f.When.N < 1 {
				t.Errorf("%s", f)
			}
		}
	}
}

// message makes one of the protocol.
func message(client bool, kind byte, body string) *pgwire.Message {
	data := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)+4))
	return &pgwire.Message{Client: client, Data: append(data, body...)}
}

// TestSessionKnowsItsCommits follows conversations, in which > is the client, and wants the messages in
// capitals' brackets to tell of a commit.
func TestSessionKnowsItsCommits(t *testing.T) {
	const z = "\x00"
	type said struct {
		client  bool
		kind    byte
		body    string
		commits bool
	}
	for name, talk := range map[string][]said{
		"a transaction": {
			{true, 'Q', "begin" + z, false}, {false, 'C', "BEGIN" + z, false}, {false, 'Z', "T", false},
			{true, 'P', "s" + z + "UPDATE queue SET token = 1" + z, false}, {true, 'B', z + "s" + z, false},
			{false, 'C', "UPDATE 1" + z, false}, {false, 'Z', "T", false},
			{true, 'Q', "commit" + z, false}, {false, 'C', "COMMIT" + z, true}, {false, 'Z', "I", false},
			{true, 'B', z + "s" + z, false}, {false, 'C', "UPDATE 1" + z, false}, {false, 'Z', "I", true},
		},
		"only read": {
			{true, 'P', "s" + z + "SELECT 1 FROM queue FOR UPDATE" + z, false}, {true, 'B', z + "s" + z, false},
			{false, 'C', "SELECT 1" + z, false}, {false, 'Z', "I", false},
		},
		"rolled back": {
			{true, 'Q', "begin" + z, false}, {false, 'Z', "T", false}, {true, 'Q', "insert into x values (1)" + z, false},
			{false, 'Z', "T", false}, {true, 'Q', "rollback" + z, false}, {false, 'C', "ROLLBACK" + z, false}, {false, 'Z', "I", false},
		},
		"failed": {
			{true, 'Q', "WITH a AS (DELETE FROM x) SELECT 1" + z, false}, {false, 'E', "", false}, {false, 'Z', "I", false},
			{true, 'Q', "WITH a AS (DELETE FROM x) SELECT 1" + z, false}, {false, 'C', "SELECT 1" + z, false}, {false, 'Z', "I", true},
		},
	} {
		s := newSession()
		for i, m := range talk {
			if got, _ := s.follow(message(m.client, m.kind, m.body)); got != m.commits {
				t.Errorf("%s: message %d tells of a commit: %v", name, i, got)
			}
		}
	}
}

// TestPlacesOfATransaction follows one connection, and wants each message to have its place.
func TestPlacesOfATransaction(t *testing.T) {
	const z = "\x00"
	s := newSession()
	seen := func(client bool, kind byte, body string) string {
		_, at := s.follow(message(client, kind, body))
		if at.K == 0 {
			return "none"
		}
		return at.String()
	}
	update := "UPDATE queue SET token = 1"
	named, prepared := nameOf(update), nameOf("prepare "+update)
	for i, m := range []struct {
		client bool
		kind   byte
		body   string
		want   string
	}{
		{true, 'p', "", "connect: message 01 of the client"},
		{false, 'R', "", "connect: message 01 of the server"},
		{false, 'S', "", "connect: message 02 of the server"},
		{false, 'S', "", "none"},
		{false, 'Z', "I", "connect: message 03 of the server"},
		{true, 'P', "s" + z + update + z, prepared + ": message 01 of the client"},
		{true, 'S', "", prepared + ": message 02 of the client"},
		{false, 'Z', "I", prepared + ": message 01 of the server"},
		{true, 'Q', "begin" + z, "begin: message 01 of the client"},
		{false, 'C', "BEGIN" + z, "begin: message 01 of the server"},
		{false, 'Z', "T", "begin: message 02 of the server"},
		{true, 'B', z + "s" + z, named + ": message 01 of the client"},
		{false, 'D', "", named + ": message 01 of the server"},
		{false, 'D', "", "none"},
		{false, 'Z', "T", named + ": message 02 of the server"},
		{true, 'Q', "commit" + z, named + ": message 02 of the client"},
		{false, 'C', "COMMIT" + z, named + ": message 03 of the server"},
		{false, 'Z', "I", named + ": message 04 of the server"},
		{true, 'B', z + "s" + z, named + ": message 01 of the client"},
	} {
		if got := seen(m.client, m.kind, m.body); got != m.want {
			t.Errorf("message %d is at %q, want %q", i, got, m.want)
		}
	}
}

func TestPlacesAreTakenOnce(t *testing.T) {
	p := NewPlaces()
	one, two := Place{Transaction: "a", K: 1}, Place{Transaction: "b", Server: true, K: 2}
	for i, want := range []Way{Before, After, ""} {
		if got := p.take(one, Before, After); got != want {
			t.Errorf("time %d: %q, want %q", i, got, want)
		}
	}
	p.see(two)
	p.see(Place{})
	if c := p.Coverage(); c.Transactions != 2 || c.Messages != 2 || c.Done[Before] != 1 || c.Done[After] != 1 {
		t.Errorf("%+v", c)
	}
	if left := p.Left(After); len(left) != 1 || left[0] != two {
		t.Errorf("left are %v", left)
	}
	if got := p.take(Place{}, Before); got != "" {
		t.Errorf("what is no place is taken: %q", got)
	}
}
