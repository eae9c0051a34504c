package reference_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"pulley/engine/reference"

	"go.starlark.net/starlark"

	"pulley/engine/ir"
)

func TestOnJSON(t *testing.T) {
	var asked string
	act := reference.OnJSON(ir.Limits{ValueBytes: 4}, func(action string, args json.RawMessage, attempt int) (json.RawMessage, *reference.Error) {
		asked = string(args)
		switch action {
		case "fails":
			return nil, &reference.Error{Type: "Declined", Message: "no"}
		case "stammers":
			return json.RawMessage(`[1,`), nil
		case "talks":
			return json.RawMessage(`"too long"`), nil
		}
		return fmt.Append(nil, attempt), nil
	})
	two := reference.Args{{Name: "b", Value: starlark.String("x")}, {Name: "a", Value: starlark.MakeInt(2)}}
	if got, failed := act("counts", two, 3); failed != nil || got.String() != "3" || asked != `{"b":"x","a":2}` {
		t.Errorf("asked %s it gives %v, %v", asked, got, failed)
	}
	if got, failed := act("fails", nil, 1); got != nil || failed == nil || failed.Type != "Declined" || failed.Message != "no" || asked != "{}" {
		t.Errorf("asked %s it gives %v, %v", asked, got, failed)
	}
	for _, action := range []string{"stammers", "talks"} {
		if got, failed := act(action, nil, 1); got != nil || failed == nil || failed.Type != reference.TypeResult {
			t.Errorf("what %s gives becomes %v, %v", action, got, failed)
		}
	}
	if got, failed := act("counts", reference.Args{{Name: "a", Value: &starlark.Function{}}}, 1); got != nil || failed == nil || failed.Type != reference.TypeResult {
		t.Errorf("an argument that is no value gives %v, %v", got, failed)
	}
}
