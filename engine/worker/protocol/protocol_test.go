package protocol_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"pulley/engine/worker/protocol"
)

func describe(l protocol.Line) string {
	var parts []string
	if len(l.Text) > 0 {
		parts = append(parts, "text "+string(l.Text[:min(len(l.Text), 40)]))
	}
	if m := l.Message; m != nil {
		parts = append(parts, string(m.Kind)+" "+m.ID+string(m.Value)+m.ErrorType+" "+m.Text)
	}
	if d := l.Damage; d != nil {
		lost := ""
		if d.LosesAnswer() {
			lost = ", an answer is lost"
		}
		parts = append(parts, "damaged "+string(d.Kind)+" "+d.ID+": "+d.Err.Error()+lost)
	}
	return strings.Join(parts, " | ")
}

func TestReader(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", protocol.LineBytes)
	for _, c := range []struct{ line, want string }{
		{`{"pulley":"result","id":"7","value":{"a":[1]}}`, `result 7{"a":[1]} `},
		{` {"value": null , "id" : "7", "pulley" : "result"}` + "\r", `result 7null `},
		{`{"pulley":"result","id":7,"value":1}`, `result 71 `},
		{`{"pulley":"error","id":"7","type":"Declined","message":"nö","types":["Declined"]}`, `error 7Declined nö`},
		{`{"pulley":"heartbeat","ids":["1"]}`, `heartbeat  `},
		{`{"pulley":"heartbeat","ids":7}`, `heartbeat  `},
		{`{"pulley":"bye"}`, `bye  `},
		{`{"pulley":"weather","value":"fine"}`, `weather "fine" `},
		{`hello`, `text hello`},
		{`{"a": 1}`, `text {"a": 1}`},
		{`{"pulley": 7}`, `text {"pulley": 7}`},
		{`[{"pulley":"bye"}]`, `text [{"pulley":"bye"}]`},
		{`{"a":{"pulley":"bye"}}`, `text {"a":{"pulley":"bye"}}`},
		{`"{\"pulley\":\"bye\"}"`, `text "{\"pulley\":\"bye\"}"`},
		{`loading...{"pulley":"result","id":"7","value":{"pulley":"bye"}}`, `text loading... | result 7{"pulley":"bye"} `},
		{"\xff{\"pulley\": \"bye\"}", "text \xff | bye  "},
		{`{"pulley":"x{"pulley":"bye"}`, `text {"pulley":"x | bye  `},
		{`got {"pulley":"run","id":"7"} from pulley`, `text got {"pulley":"run","id":"7"} from pulle`},
		{`b'{"pulley":"run","id":"7"}\n'`, `text b'{"pulley":"run","id":"7"}\n'`},
		{`{"pulley":"result","id":"7","value":NaN}`, `damaged result 7: it is not JSON: byte 37: invalid character 'N' looking for beginning of value`},
		{`{"pulley":"result","id":"7","value":[1,`, `damaged result 7: it is not JSON: byte 39: unexpected end of JSON input`},
		{`{"pulley":"result","id":"7"}`, `damaged result 7: it has no value; send null where there is none`},
		{`{"pulley":"result","value":1}`, `damaged result : its id is not the text that the run had, an answer is lost`},
		{`{"pulley":"result","id":null,"value":1}`, `damaged result : its id is not the text that the run had, an answer is lost`},
		{`{"pulley":"result","value":[1,{"id":"7"`, `damaged result : it is not JSON: byte 39: unexpected end of JSON input, an answer is lost`},
		{`{"pulley":"error","id":"7","message":"x"}`, `damaged error 7: its type is a text that is not empty, and its message a text`},
		{`{"pulley":"error","id":"7","type":"","message":"x"}`, `damaged error 7: its type is a text that is not empty, and its message a text`},
		{`{"pulley":"error","id":"7","type":"T","message":{}}`, `damaged error 7: its type is a text that is not empty, and its message a text`},
		{"{\"pulley\":\"result\",\"id\":\"7\",\"value\":\"\xff\"}", `damaged result 7: it is not UTF-8`},
		{`{"pulley":"heartbeat",`, `damaged heartbeat : it is not JSON: byte 22: unexpected end of JSON input`},
		{`x{"pulley":"resu`, `text x | damaged  : it is not JSON: byte 15: unexpected end of JSON input, an answer is lost`},
		{`{"pulley":"result","id":"7","value":"` + long + `"}`, `damaged result 7: it is longer than 8388608 bytes`},
		{`{"pulley":"result","value":"` + long + `","id":"7"}`, `damaged result : it is longer than 8388608 bytes, an answer is lost`},
		{"y" + long, "text y" + long[:39]},
	} {
		r := protocol.NewReader(strings.NewReader("\n" + c.line + "\n \n" + `{"pulley":"bye"}` + "\nrest"))
		for i, want := range []string{c.want, "bye  ", "text rest"} {
			l, err := r.Next()
			if got := describe(l); err != nil || got != want {
				t.Errorf("%.80q: line %d is\n%.200s, %v\nwant\n%s", c.line, i, got, err, want)
			}
		}
		if _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("%.80q: the end is %v", c.line, err)
		}
	}
}

type endless struct{ begin string }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	n := copy(p, e.begin)
	e.begin = e.begin[n:]
	return len(p), nil
}

// An endless line must be refused as soon as it is too long.
func TestLineWithoutEnd(t *testing.T) {
	t.Parallel()
	r := protocol.NewReader(&endless{`{"pulley":"result","id":"7","value":"`})
	l, err := r.Next()
	if err != nil || l.Damage == nil || l.Damage.ID != "7" || !errors.Is(l.Damage.Err, protocol.ErrTooLong) {
		t.Errorf("got %s, %v", describe(l), err)
	}
	if _, err := r.Next(); !errors.Is(err, protocol.ErrEndless) {
		t.Errorf("afterwards came %v", err)
	}
}

func TestLineReader(t *testing.T) {
	t.Parallel()
	r := protocol.NewLineReader(strings.NewReader("\n"+strings.Repeat("x", 150)+"\nend\nrest"), 100)
	for _, want := range []int{0, 100, 3} {
		if line, tooLong, err := r.ReadLine(); len(line) != want || tooLong != (want == 100) || err != nil {
			t.Errorf("got %q, %v, %v; want %d bytes", line, tooLong, err, want)
		}
	}
	if line, _, err := r.ReadLine(); string(line) != "rest" || !errors.Is(err, io.EOF) {
		t.Errorf("got %q, %v", line, err)
	}
}

func TestLinesOfPulley(t *testing.T) {
	t.Parallel()
	fields, err := protocol.Run{Action: "a.b", Instance: "i", Node: "n", Path: "0", Attempt: 2, Key: "i/n/0", Args: json.RawMessage("{\r\n \"x\":\t\"a\\nb\"}")}.Fields()
	if err != nil {
		t.Fatal(err)
	}
	rest := `"action":"a.b","instance":"i","node":"n","path":"0","attempt":2,"key":"i/n/0","args":{"x":"a\nb"}}` + "\n"
	for want, got := range map[string][]byte{
		`{"pulley":"run","id":"9","delivery":3,` + rest:                 protocol.AppendRun(nil, 9, 3, 0, fields),
		`{"pulley":"run","id":"9","delivery":3,"timeout_ms":50,` + rest: protocol.AppendRun(nil, 9, 3, 50, fields),
		`{"pulley":"cancel","id":"9"}` + "\n":                           protocol.Cancel(9),
		`{"pulley":"hello","version":1}` + "\n":                         protocol.Hello(),
		`{"pulley":"bye"}` + "\n":                                       protocol.Bye(),
	} {
		if string(got) != want || !json.Valid(got) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if _, err := (protocol.Run{Args: json.RawMessage("{\n")}).Fields(); err == nil {
		t.Error("arguments that are no JSON are taken")
	}
}

func TestGreeting(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"version":1,"name":"x","actions":[{"name":"a.b","args":["x","y"],"required":["y"]}]}`: "",
		`{"version":1,"name":"x","slots":3,"heartbeat_ms":10,"actions":[{"name":"a"}]}`:         "",
		`{}`: "its version of the protocol is 0; pulley speaks version 1",
		`{"version":1,"slots":0,"heartbeat_ms":5}`: "it has no name; send a text, such as the program's name\n" +
			"slots is 0; choose from 1 to 10000\nheartbeat_ms is 5; choose from 10 to 60000, or 0 for a worker that sends no heartbeats\n" +
			"it lists no actions; list one at least",
		`{"version":1,"name":"x","actions":[{"name":"a b"},{"name":"c","args":["x","x","y.z"],"required":["q"]},{"name":"c"}]}`: "actions[0]: \"a b\" is not an action's name: write letters, digits, _ and single dots, as in mail.send\n" +
			"action c: its argument x is there twice\naction c: \"y.z\" is not an argument's name: write letters, digits and _\n" +
			"action c: it requires q, which is not among its args\nactions[2]: c is there twice",
	} {
		var g protocol.Greeting
		if err := json.Unmarshal([]byte(text), &g); err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := g.Check(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", text, got, want)
		}
	}
}

// Any line must be parsed safely, and text and message be disjoint.
func FuzzTake(f *testing.F) {
	f.Add([]byte(`x{"pulley":"result","id":"7","value":1}`))
	f.Add([]byte(`{"pulley":"x{"pulley":"bye"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		l := protocol.Take(line)
		if l.Message != nil && l.Damage != nil {
			t.Error("a message is both there and damaged")
		}
		if l.Message == nil && l.Damage == nil && len(l.Text) != len(line) {
			t.Errorf("of %q only %q is told", line, l.Text)
		}
	})
}
