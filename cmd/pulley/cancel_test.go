package main

import (
	"testing"

	"github.com/google/uuid"

	"pulley/cmd/pulley/console"
	"pulley/engine/backend/designs"
	"pulley/internal/pgtest"
)

func TestCancel(t *testing.T) {
	t.Parallel()
	prog := file(t, "sleeper.ir", sleeper)
	for _, design := range designs.Durable() {
		t.Run(design.String(), func(t *testing.T) {
			t.Parallel()
			where := []string{"--backend", design.String(), "--dsn", pgtest.DSN(t), "--schema", pgtest.Schema(t), "--format", "json"}
			id := uuid.NewString()
			s := start(t, nil, append([]string{prog, "--id", id}, where...)...)
			const want = `{"status":"canceled","result":null,"error":{"type":"Canceled","message":"enough","action":"","position":""}}` + "\n"
			canceled := run(t, append([]string{"cancel", id, "--reason", "enough"}, where...)...)
			if canceled.code != 0 || canceled.out != want || canceled.err != "" {
				t.Errorf("pulley cancel: %+v", canceled)
			}
			if code, last := s.wait(t); code != console.ExitFailed || s.stdout.String() != want {
				t.Errorf("pulley run: exit status %d, output %q, %q", code, s.stdout.String(), last)
			}
			if again := call(t, nil, append([]string{"cancel", id}, where...)...); again.code != 0 || again.out != want {
				t.Errorf("canceled again: %+v", again)
			}
			ran := call(t, nil, append([]string{"run", prog, "--id", id}, where...)...)
			if ran.code != console.ExitFailed || ran.out != want {
				t.Errorf("run again: %+v", ran)
			}
		})
	}
}

func TestCancelInWords(t *testing.T) {
	t.Parallel()
	where := []string{"--dsn", pgtest.DSN(t), "--schema", pgtest.Schema(t)}
	id := uuid.NewString()
	unknown := call(t, nil, append([]string{"cancel", id}, where...)...)
	if unknown.code != console.ExitUsage || unknown.out != "" {
		t.Errorf("no schema: %+v", unknown)
	}
	wantLine(t, unknown.err, "pulley: there is no instance "+id+" in schema ")

	done := append([]string{"run", file(t, "p.ir", "fn main(input: [], output: [x]):\n    x = 1\n"), "--id", id}, where...)
	if got := call(t, nil, done...); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	if late := call(t, nil, append([]string{"cancel", id}, where...)...); late.code != console.ExitFailed || late.out != "completed: 1\n" {
		t.Errorf("too late: %+v", late)
	}
	if other := call(t, nil, append([]string{"cancel", uuid.NewString()}, where...)...); other.code != console.ExitUsage {
		t.Errorf("no such instance: %+v", other)
	}

	s := start(t, nil, append([]string{file(t, "nap.ir", "fn main(input: [], output: []):\n    sleep 3600\n"), "--id", "01a1fbf5-62b7-7e19-b7ab-4f4a0b43f1e6"}, where...)...)
	if got := call(t, nil, append([]string{"cancel", "01a1fbf5-62b7-7e19-b7ab-4f4a0b43f1e6"}, where...)...); got.code != 0 || got.out != "canceled: canceled by hand\n" {
		t.Errorf("in words: %+v", got)
	}
	if code, _ := s.wait(t); code != console.ExitFailed || s.stdout.String() != "canceled: canceled by hand\n" {
		t.Errorf("in words, of pulley run: exit status %d, %q", code, s.stdout.String())
	}
}

func TestCancelRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args  []string
		parts []string
	}{
		{[]string{"seven"}, []string{`pulley: id "seven": this is not a UUID such as `}},
		{[]string{uuid.NewString()}, []string{"say which database holds the instance: give --dsn DSN, or set PULLEY_DSN"}},
		{[]string{uuid.NewString(), "--backend", "memory"}, []string{"backend memory keeps nothing for another command"}},
		{[]string{uuid.NewString(), "--backend", "pusch"}, []string{`no backend "pusch"`}},
	} {
		got := call(t, nil, append([]string{"cancel"}, c.args...)...)
		if got.code != console.ExitUsage || got.out != "" {
			t.Errorf("%v: %+v", c.args, got)
		}
		wantLine(t, got.err, c.parts...)
	}
}
