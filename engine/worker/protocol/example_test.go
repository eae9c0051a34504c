package protocol_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"pulley/engine/worker/protocol"
)

// The engine's side writes a line for an attempt, and reads what a worker writes, logs among it.
func ExampleReader() {
	fields, err := protocol.Run{Action: "upper", Node: "loud", Attempt: 1, Key: "k", Args: json.RawMessage(`{"text":"hi"}`)}.Fields()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("> %s> %s", protocol.Hello(), protocol.AppendRun(nil, 1, 1, 0, fields))

	worker := strings.NewReader(`{"pulley":"hello","version":1,"name":"words","actions":[{"name":"upper"}]}
loading... {"pulley":"result","id":"1","value":"HI"}
{"pulley":"result","id":"2","value":
`)
	for reader := protocol.NewReader(worker); ; {
		line, err := reader.Next()
		if err != nil {
			fmt.Println("the end:", err == io.EOF)
			return
		}
		if len(line.Text) > 0 {
			fmt.Printf("log: %q\n", line.Text)
		}
		switch {
		case line.Damage != nil:
			fmt.Println("damage of attempt", line.Damage.ID)
		case line.Message != nil && line.Message.Kind == protocol.KindHello:
			fmt.Println("hello of", line.Message.Hello.Name, line.Message.Hello.Check())
		case line.Message != nil:
			fmt.Println(line.Message.Kind, line.Message.ID, string(line.Message.Value))
		}
	}
	// Output:
	// > {"pulley":"hello","version":1}
	// > {"pulley":"run","id":"1","delivery":1,"action":"upper","instance":"","node":"loud","path":"","attempt":1,"key":"k","args":{"text":"hi"}}
	// hello of words <nil>
	// log: "loading... "
	// result 1 "HI"
	// damage of attempt 2
	// the end: true
}
