package peer

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"
)

// run executes an instance of a chain or fan-out as a correct system would.
func run(t *testing.T, w *Work, instance int) string {
	t.Helper()
	text := Payload(instance)
	var err error
	if w.Workload.Shape != Fanout {
		for range w.Workload.Tasks() {
			if text, err = w.Step(text); err != nil {
				t.Fatal(err)
			}
		}
		return text
	}
	if text, err = w.Step(text); err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for i := range w.Workload.Width {
		v, err := w.Member(text, i)
		if err != nil {
			t.Fatal(err)
		}
		sum += v
	}
	if sum, err = w.Join(text, sum); err != nil {
		t.Fatal(err)
	}
	return strconv.FormatInt(sum, 10)
}

// TestWork checks that a correct system is accepted for every workload.
func TestWork(t *testing.T) {
	for _, workload := range Workloads() {
		if err := workload.Validate(); err != nil {
			t.Error(err)
		}
		ended := 0
		w := NewWork(workload, 3, func(int, time.Time) { ended++ })
		for i := range 3 {
			w.Ended(i, run(t, w, i), nil)
		}
		if repeats, err := w.Verdict(3); err != nil || repeats != 0 || ended != 3 {
			t.Errorf("%s: %d ended, %d repeats, %v", workload.Name, ended, repeats, err)
		}
	}
}

// TestWorkIsStrict checks that every mistake of a system makes the run invalid.
func TestWorkIsStrict(t *testing.T) {
	chain := Workload{Name: "chain", Shape: Chain, Load: Closed, Steps: 2}
	fan := Workload{Name: "fanout", Shape: Fanout, Load: Closed, Width: 2}
	for name, c := range map[string]struct {
		workload Workload
		act      func(w *Work)
		want     string
	}{
		"never ended":      {chain, func(*Work) {}, "has not ended"},
		"ended twice":      {chain, func(w *Work) { r := run(t, w, 0); w.Ended(0, r, nil); w.Ended(0, r, nil) }, "twice"},
		"failed":           {chain, func(w *Work) { w.Ended(0, "", errors.New("boom")) }, "boom"},
		"a task left out":  {chain, func(w *Work) { w.Ended(0, payload(0, 2), nil) }, "did not run"},
		"a wrong result":   {chain, func(w *Work) { _ = run(t, w, 0); w.Ended(0, payload(0, 1), nil) }, "the result is"},
		"another's result": {chain, func(w *Work) { _ = run(t, w, 0); w.Ended(0, payload(1, 2), nil) }, "the result is"},
		"cut payload":      {chain, func(w *Work) { _, _ = w.Step(Payload(0)[:60]) }, "did not arrive"},
		"changed payload":  {chain, func(w *Work) { _, _ = w.Step(strings.Replace(Payload(0), "pulley", "bullet", 1)) }, "did not arrive"},
		"one task more":    {chain, func(w *Work) { _, _ = w.Step(payload(0, 2)) }, "no task 2"},
		"no such instance": {chain, func(w *Work) { w.Ended(7, "", nil) }, "no instance 7"},
		"no such element":  {fan, func(w *Work) { _, _ = w.Member(payload(0, 1), 2) }, "no element 2"},
		"member too early": {fan, func(w *Work) { _, _ = w.Member(payload(0, 0), 0) }, "was given"},
		"a member missing": {fan, func(w *Work) {
			p, _ := w.Step(Payload(0))
			v, _ := w.Member(p, 0)
			sum, _ := w.Join(p, v)
			w.Ended(0, strconv.FormatInt(sum, 10), nil)
		}, "the result is"},
	} {
		w := NewWork(c.workload, 2, func(int, time.Time) {})
		c.act(w)
		if _, err := w.Verdict(1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want it to say %q", name, err, c.want)
		}
	}
}

// TestRepeats checks that a repeated task is counted, and is no mistake of an at-least-once system.
func TestRepeats(t *testing.T) {
	w := NewWork(Workload{Name: "chain", Shape: Chain, Load: Closed, Steps: 2}, 1, func(int, time.Time) {})
	_, _ = w.Step(Payload(0))
	w.Ended(0, run(t, w, 0), nil)
	if repeats, err := w.Verdict(1); err != nil || repeats != 1 {
		t.Errorf("%d repeats, %v; want 1", repeats, err)
	}
}
