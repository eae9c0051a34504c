package workertest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"pulley/engine/worker"
	"pulley/engine/worker/workertest"
	"pulley/internal/depth"
)

// mutantVariable names the planted bug that TestSubject runs with; unset: none.
const mutantVariable = "WORKERTEST_MUTANT"

type mutant struct {
	name  string
	of    workertest.Behaviour
	catch string // the case that must catch it
	run   worker.Func
}

func give(value any) worker.Func {
	return func(context.Context, worker.Call) (any, error) { return value, nil }
}

func fail(typ, message string) worker.Func {
	return func(context.Context, worker.Call) (any, error) {
		return nil, &worker.Error{Type: typ, Message: message}
	}
}

// never does not end, whatever the context does. It ends with the test's process.
func never(context.Context, worker.Call) (any, error) { select {} }

// left holds the processes that leave has started, until this one ends.
var left sync.Map

// leave starts a process that outlives the attempt, and ends with the test's.
func leave(_ context.Context, call worker.Call) (any, error) {
	end, err := child(call)
	left.Store(call.Instance, end)
	return true, err
}

func mutants() []mutant {
	return []mutant{
		{"float", workertest.Echo, "ResultsAreWhatTheActionGives", func(_ context.Context, call worker.Call) (any, error) {
			var v map[string]any
			err := json.Unmarshal(call.Args, &v) // large ints become floats
			return v, err
		}},
		{"short", workertest.Echo, "LargeArgumentsAndResults", func(_ context.Context, call worker.Call) (any, error) {
			if len(call.Args) > 1<<16 {
				return "", nil
			}
			return call.Args, nil
		}},
		{"mixed up", workertest.Echo, "ManyAtOnce", func(_ context.Context, call worker.Call) (any, error) {
			return bytesReplaced(call.Args, `:7}`, `:8}`), nil
		}},
		{"no type", workertest.Decline, "FailuresHaveTypes", fail("Error", workertest.DeclineMessage)},
		{"other message", workertest.Decline, "FailuresHaveTypes", fail("Declined", "no")},
		{"no failure", workertest.Decline, "FailuresHaveTypes", give(nil)},
		{"hangs", workertest.Hang, "TimeoutsEndAttempts", never},
		{"hangs when ignored", workertest.Ignore, "TimeoutsEndThoseThatIgnoreThem", never},
		{"hangs when frozen", workertest.Freeze, "TimeoutsEndThoseThatStandStill", never},
		{"hangs when cancelled", workertest.Hang, "CancelEndsAttempts", never},
		{"gives a result when cancelled", workertest.Ignore, "CancelEndsThoseThatIgnoreIt", give(true)},
		{"cuts", workertest.Huge, "HugeResults", give("xxx")},
		{"cuts the flood", workertest.Flood, "OutputWithoutEnd", give("1")},
		{"null for nothing", workertest.Nothing, "NoOutput", give(nil)},
		{"mends", workertest.Invalid, "InvalidUTF8", give("\uFFFD")},
		{"takes garbage", workertest.Garbage, "GarbageBeforeTheResult", give("hello, I am no result")},
		{"takes a half", workertest.Half, "EndsWhileItWrites", give([]int{1, 2})},
		{"death goes unseen", workertest.ActionDie, "Dies", give(nil)},
		{"leaves a process", workertest.Orphan, "NobodyOutlivesAResult", leave},
		{"leaves a process that hung", workertest.OrphanHang, "NobodyOutlivesATimeout", func(ctx context.Context, call worker.Call) (any, error) {
			_, err := leave(ctx, call)
			<-ctx.Done()
			return nil, errors.Join(err, context.Cause(ctx))
		}},
	}
}

func bytesReplaced(text []byte, before, after string) json.RawMessage {
	return bytes.Replace(text, []byte(before), []byte(after), 1)
}

// obedient keeps the contract, and does itself what processes would do.
func obedient(b workertest.Behaviour) worker.Func {
	switch b {
	case workertest.Echo:
		return func(_ context.Context, call worker.Call) (any, error) { return call.Args, nil }
	case workertest.Decline:
		return fail("Declined", workertest.DeclineMessage)
	case workertest.Huge, workertest.Flood:
		return fail(worker.TypeLimit, "too much")
	case workertest.Nothing, workertest.Invalid, workertest.Half:
		return fail(worker.TypeResult, "no result")
	case workertest.Garbage:
		return give(true)
	case workertest.ActionDie:
		return fail("Died", "it is dead")
	case workertest.Orphan:
		return func(_ context.Context, call worker.Call) (any, error) {
			end, err := child(call)
			if err == nil {
				end()
			}
			return true, err
		}
	case workertest.OrphanHang:
		return func(ctx context.Context, call worker.Call) (any, error) {
			end, err := child(call)
			if err != nil {
				return nil, err
			}
			<-ctx.Done()
			end()
			return nil, context.Cause(ctx)
		}
	}
	return func(ctx context.Context, _ worker.Call) (any, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
}

func child(call worker.Call) (end func(), err error) {
	cmd := exec.Command("sh", "-c", "read line", string(call.Args))
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	return func() {
		_ = in.Close()
		_ = cmd.Wait() // read fails at the end of its input
	}, cmd.Start()
}

func TestSubject(t *testing.T) {
	depth.Needs(t, "other processes")
	h := workertest.Harness{
		Func: func(_ *testing.T, b workertest.Behaviour) worker.Func { return obedient(b) },
		Types: map[workertest.Behaviour]string{
			workertest.ActionDie: "Died",
			workertest.Garbage:   workertest.NoFailure,
		},
	}
	if name := os.Getenv(mutantVariable); name != "" {
		h.Timeout = time.Second
		h.Func = func(_ *testing.T, b workertest.Behaviour) worker.Func {
			for _, m := range mutants() {
				if m.name == name && m.of == b {
					return m.run
				}
			}
			return obedient(b)
		}
		switch name {
		case "no type of death":
			delete(h.Types, workertest.ActionDie)
		case "an unknown behaviour":
			h.Lacks = map[workertest.Behaviour]string{"dance": "it has no legs"}
		case "no reason":
			h.Lacks = map[workertest.Behaviour]string{workertest.Flood: ""}
		}
	}
	workertest.Run(t, h)
}

func TestTheSuiteCatches(t *testing.T) {
	depth.Needs(t, "other processes")
	t.Parallel()
	planted := mutants()
	for _, name := range []string{"no type of death", "an unknown behaviour", "no reason"} {
		planted = append(planted, mutant{name: name})
	}
	for _, m := range planted {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSubject$/^"+m.catch+"$", "-test.v")
			cmd.Env = append(os.Environ(), mutantVariable+"="+m.name)
			out, err := cmd.Output()
			want := strings.TrimSuffix("--- FAIL: TestSubject/"+m.catch, "/")
			if exit := new(exec.ExitError); !errors.As(err, &exit) || !strings.Contains(string(out), want) {
				t.Errorf("%s did not fail: %v\n%s", want, err, out)
			}
		})
	}
}
