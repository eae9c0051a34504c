package protocol_test

import (
	"strings"
	"testing"

	"pulley/adapter/protocol"
)

func TestHelloIsValidated(t *testing.T) {
	t.Parallel()
	good := func() *protocol.Hello {
		return &protocol.Hello{
			Version: 1, Name: "n", System: "s", SystemVersion: "1", Shapes: []protocol.Shape{protocol.ShapeSingle, protocol.ShapeRetries},
			Promises: protocol.Promises{Submit: protocol.Durable, Resubmit: protocol.Once, Execution: protocol.AtLeastOnce, Results: protocol.Any, Order: protocol.None},
			Settings: []protocol.Setting{{Name: "a"}, {Name: "b"}},
		}
	}
	if err := good().Validate(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*protocol.Hello){
		"version is 2; pulley speaks version 1": func(h *protocol.Hello) { h.Version = 2 },
		"name is not there":                     func(h *protocol.Hello) { h.Name = "" },
		"shapes has none":                       func(h *protocol.Hello) { h.Shapes = nil },
		`shapes has "loop"`:                     func(h *protocol.Hello) { h.Shapes = append(h.Shapes, "loop") },
		"shapes has single twice":               func(h *protocol.Hello) { h.Shapes = append(h.Shapes, "single") },
		"neither single nor graph":              func(h *protocol.Hello) { h.Shapes = h.Shapes[1:] },
		"two settings have the name a":          func(h *protocol.Hello) { h.Settings[1].Name = "a" },
		`a setting has the name "a=b"`:          func(h *protocol.Hello) { h.Settings[1].Name = "a=b" },
		`the promise results is "twice"; it is once or any, or not there`: func(h *protocol.Hello) { h.Promises.Results = "twice" },
		"are at least 0": func(h *protocol.Hello) { h.Promises.RecoversMS = -1 },
	} {
		h := good()
		change(h)
		if err := h.Validate(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("the mistakes are %v, want %s", err, want)
		}
	}
}
