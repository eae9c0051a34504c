package fault

import (
	"bytes"
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
	for words, want := range map[string]int{"all": len(all) - len(Every()), "none": 0, "wire.cut": 1, "wire.cut process.kill": 2, "wire wire.cut": 9, "container": 3, "host": 3, "host.kill process": 8} {
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

func message(client bool, kind byte, body string) *pgwire.Message {
	data := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)+4))
	return &pgwire.Message{Client: client, Data: append(data, body...)}
}

// TestSessionKnowsItsCommits checks which messages of conversations tell of a commit.
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
		"calls of functions": {
			{true, 'Q', "SELECT pgq.insert_event('q', 't', 'd')" + z, false}, {false, 'C', "SELECT 1" + z, false}, {false, 'Z', "I", true},
			{true, 'Q', "SELECT pg_catalog.now(), count(*), t.value FROM t WHERE t.id IN (1)" + z, false}, {false, 'C', "SELECT 1" + z, false}, {false, 'Z', "I", false},
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
			if got, _, _ := s.handleMessage(message(m.client, m.kind, m.body), false); got != m.commits {
				t.Errorf("%s: message %d tells of a commit: %v", name, i, got)
			}
		}
	}
}

// TestPlacesOfATransaction checks the place of each message of a connection.
func TestPlacesOfATransaction(t *testing.T) {
	const z = "\x00"
	s := newSession()
	seen := func(client bool, kind byte, body string) string {
		_, at, _ := s.handleMessage(message(client, kind, body), false)
		if at.K == 0 {
			return "none"
		}
		return at.String()
	}
	update := "UPDATE queue SET token = 1"
	named, prepared := "connect, "+nameOf(update), "connect, prepare "
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
		{true, 'Q', "begin" + z, "connect, begin: message 01 of the client"},
		{false, 'C', "BEGIN" + z, "connect, begin: message 01 of the server"},
		{false, 'Z', "T", "connect, begin: message 02 of the server"},
		{true, 'B', z + "s" + z, named + ": message 01 of the client"},
		{false, 'D', "", named + ": message 01 of the server"},
		{false, 'D', "", "none"},
		{false, 'Z', "T", named + ": message 02 of the server"},
		{true, 'B', z + "s" + z, named + ": message 01 of the client"}, // another round
		{false, '2', "", named + ": message 01 of the server"},
		{false, 'C', "UPDATE 1" + z, named + ": message 02 of the server"},
		{false, 'Z', "T", named + ": message 03 of the server"},
		{true, 'Q', "select 1" + z, named + ", at select 1: message 01 of the client"}, // two at once
		{true, 'Q', "commit" + z, named + ", at commit: message 01 of the client"},
		{false, 'C', "SELECT 1" + z, named + ", at select 1: message 01 of the server"},
		{false, 'C', "COMMIT" + z, named + ", at commit: message 01 of the server"},
		{false, 'Z', "I", named + ", at commit: message 02 of the server"},
		{true, 'B', z + "s" + z, named + ": message 01 of the client"},
	} {
		if got := seen(m.client, m.kind, m.body); got != m.want {
			t.Errorf("message %d is at %q, want %q", i, got, m.want)
		}
	}
}

func TestPlacesAreTakenOnce(t *testing.T) {
	p := NewPlaces()
	one, two, start := Place{Operation: "a", K: 1}, Place{Operation: "b", Server: true, K: 2}, Place{Operation: Starting, K: 1}
	for _, at := range []Place{one, two, start, one, two, start, {Operation: "rare", K: 1}, {}} {
		p.see(at)
	}
	p.Baseline()
	for i, want := range []Way{Before, After, ""} {
		if got := p.nextWay(one, Before, After); got != want {
			t.Errorf("time %d: %q, want %q", i, got, want)
		}
	}
	c := p.Coverage()
	if c.Transactions != 4 || c.Messages != 4 || c.Baseline != 3 || c.Done[Before] != 1 || c.Covered[After] != 1 {
		t.Errorf("%+v", c)
	}
	if o := c.Operations["a"]; o.Transactions != 1 || o.Client != 1 || o.Server != 0 || o.Covered[Before] != 1 {
		t.Errorf("a: %+v", o)
	}
	if left := p.Unvisited(false, Before, After); len(left) != 2 || !strings.HasPrefix(left[0], "b: message 02 of the server: not ") {
		t.Errorf("left are %v", left)
	}
	if left := p.Unvisited(true, startWays...); len(left) != len(startWays) {
		t.Errorf("of the start are left %v", left)
	}
	if got := p.nextWay(Place{}, Before); got != "" {
		t.Errorf("what is no place is taken: %q", got)
	}
	p.Only(true)
	if got := p.nextWay(Place{Operation: "new", K: 1}, Before); got != "" {
		t.Errorf("what is not of the baseline is taken: %q", got)
	}
}

// TestPlacesContinue checks that a run does what the previous one left, and that its baseline excludes what that one saw under
// faults.
func TestPlacesContinue(t *testing.T) {
	one, two, rare := Place{Operation: "a", K: 1}, Place{Operation: "b", K: 2}, Place{Operation: "rare", K: 1}
	first, all := NewPlaces(), NewPlaces()
	for _, at := range []Place{one, two, one, two} {
		first.see(at)
	}
	first.Baseline()
	for range 3 { // in three rounds
		first.nextWay(one, Before)
		first.again(Before)
	}
	first.see(rare)
	first.see(rare)
	all.Add(first)
	second := NewPlaces()
	second.Resume(all)
	second.Baseline()
	if c := second.Coverage(); c.Baseline != 2 || c.Messages != 0 || c.Covered[Before] != 1 {
		t.Errorf("the second begins with %+v", c)
	}
	if left := second.Unvisited(false, Before); len(left) != 1 || !strings.HasPrefix(left[0], "b: ") {
		t.Errorf("left are %v", left)
	}
	if got := second.nextWay(one, Before); got != "" {
		t.Errorf("what the first did is done again at once: %q", got)
	}
	if second.again(Before); second.nextWay(one, Before) != Before {
		t.Error("in the second round it is not done again")
	}
	if second.nextWay(two, Before) != Before {
		t.Error("what the first left is not done")
	}
	if all.Add(second); len(all.Unvisited(false, Before)) != 0 || all.Coverage().Messages != 3 {
		t.Errorf("both: %+v", all.Coverage())
	}
}

// TestMarksAndErrorsAreSeen checks that a wire sees an engine's ConnUse and the server's errors.
func TestMarksAndErrorsAreSeen(t *testing.T) {
	var sent bytes.Buffer
	want := ConnUse{Operation: Claiming, Shard: 3, Source: "engine 0.1", Call: 7}
	if err := want.Send(&sent); err != nil {
		t.Fatal(err)
	}
	m := &pgwire.Message{Client: true, Data: sent.Bytes()}
	if got, ok := readConnUse(m); !ok || got != want {
		t.Errorf("the mark is %+v, %v", got, ok)
	}
	if _, ok := readConnUse(message(true, 'Q', "{}")); ok {
		t.Error("a query is taken for a mark")
	}
	s := newSession()
	s.setUse(want)
	if _, at, of := s.handleMessage(message(true, 'Q', "SELECT 1\x00"), false); at.Operation != Claiming || of != want {
		t.Errorf("it is of %q, %+v", at.Operation, of)
	}
	if _, at, _ := newSession().handleMessage(message(true, 'Q', "SELECT 1\x00"), true); at.Operation != Starting {
		t.Errorf("it is of %q, want a start", at.Operation)
	}
	l := NewLedger()
	l.passed(message(false, 'E', "SERROR\x00C40P01\x00Mdeadlock detected\x00\x00"))
	l.passed(message(false, 'N', "SWARNING\x00C25P01\x00\x00"))
	if got := l.Failed(); len(got) != 1 || got["40P01"] != 1 {
		t.Errorf("errors are %v, want one deadlock", got)
	}
	k := Kind{States: []string{"40001", "40P01"}}
	if k.HasHappened(l.Failed(), l.Failed()) || !k.HasHappened(map[string]int{}, l.Failed()) {
		t.Error("a fault happens where none of its errors came, or not where one did")
	}
}

// TestPurposeOfStatements checks that a journal's appends and recovery are distinguished from other statements.
func TestPurposeOfStatements(t *testing.T) {
	for sql, want := range map[string]string{
		"WITH x AS (SELECT 1) INSERT INTO events SELECT 1":                           "complete, append",
		"-- Takes a shard.\nUPDATE shards\nSET owner = $2":                           Recovering,
		"prepare -- x\nSELECT seq, data\nFROM events WHERE shard = $1":               Recovering,
		"SELECT id, workflow, input\nFROM instances WHERE shard = $1":                Recovering,
		"SELECT EXISTS (SELECT FROM events WHERE shard = $1)":                        "complete",
		"WITH a AS (SELECT 1) UPDATE shards s SET expires_at = 1":                    "complete",
		"UPDATE shards s SET expires_at = greatest(s.expires_at, clock_timestamp())": Recovering,
		"-- x\nWITH fence AS MATERIALIZED (\nSELECT 1\n), taken AS (SELECT 1)":       Recovering,
		"WITH fence AS MATERIALIZED (SELECT 1) DELETE FROM events":                   "complete",
		"prepare -- $1 number.\nSELECT definition FROM workflows WHERE id = $1":      Learning,
		"-- ping": Connecting,
	} {
		if got := purpose(read(sql), "complete"); got != want {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
}
