package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"pulley/engine/dispatch"
)

func TestActionContextIsAContext(t *testing.T) {
	type key struct{}
	parent := context.WithoutCancel(context.WithValue(t.Context(), key{}, 7))
	for _, c := range []struct {
		name  string
		early bool
		cause error
		want  error
	}{
		{"returned", false, nil, context.Canceled},
		{"returned, looked at before", true, nil, context.Canceled},
		{"cut off", false, dispatch.ErrLeaseLost, dispatch.ErrLeaseLost},
		{"cut off, looked at before", true, dispatch.ErrLeaseLost, dispatch.ErrLeaseLost},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx := &actionContext{parent: parent}
			if ctx.Err() != nil || ctx.Value(key{}) != 7 {
				t.Errorf("before the end Err is %v and the value %v", ctx.Err(), ctx.Value(key{}))
			}
			if !c.early {
				ctx = &actionContext{parent: parent}
			}
			ctx.cancel(c.cause)
			ctx.cancel(errors.New("a second end"))
			select {
			case <-ctx.Done():
			default:
				t.Error("it is not done after its end")
			}
			if !errors.Is(ctx.Err(), context.Canceled) || !errors.Is(context.Cause(ctx), c.want) || ctx.why() != c.cause {
				t.Errorf("after the end Err is %v, the cause %v, why %v; want the cause %v", ctx.Err(), context.Cause(ctx), ctx.why(), c.want)
			}
		})
	}
}

func TestActionContextEndsWhatIsDerived(t *testing.T) {
	ctx := &actionContext{parent: context.WithoutCancel(t.Context())}
	child, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	after := make(chan struct{})
	context.AfterFunc(child, func() { close(after) })
	ctx.cancel(dispatch.ErrInstanceEnded)
	select {
	case <-after:
	case <-t.Context().Done():
		t.Fatal("what was to follow its end did not")
	}
	if child.Err() == nil || !errors.Is(context.Cause(child), dispatch.ErrInstanceEnded) {
		t.Errorf("what was derived has the error %v and the cause %v", child.Err(), context.Cause(child))
	}
}
