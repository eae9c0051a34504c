package changes_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"pulley/bench/gate"
	"pulley/reports/changes"
	"pulley/reports/page"
	"pulley/reports/record"
)

// measured has runs of ten instances, each of which takes factor milliseconds and a little more from one to the next.
func measured(cpu string, runs int, factor float64, settings ...record.Setting) []gate.Run {
	m := &record.Manifest{Command: []string{"pulley", "compare"}, Host: record.Host{OS: "linux", Arch: "amd64", CPU: cpu, Cores: 2}, Postgres: &record.Postgres{Version: "15", VersionNum: 150000, Settings: settings}, Tool: record.Tool{Name: "pulley", Version: "1"}}
	for run := range runs {
		s := record.Sample{Scenario: "fanout", Backend: "push", Size: 10, Mode: record.ModeAlone, Run: run + 1, Instances: 10, Nodes: 10, Valid: true, NodesPerS: 1}
		for i := range 10 {
			ns := int64(factor * (1 + 0.1*float64(i) + 0.01*float64(run)) * float64(time.Millisecond))
			s.InstanceNS = append(s.InstanceNS, ns)
			s.ElapsedNS += ns
		}
		m.Samples = append(m.Samples, s)
	}
	return []gate.Run{{Dir: "x", Manifest: m}}
}

func beside(t *testing.T, after, before []gate.Run) (*page.Page, string) {
	t.Helper()
	p, err := changes.Beside("new", "old", after, before)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := p.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	return p, strings.Join(strings.Fields(b.String()), " ")
}

func TestBesideSaysWhatGotWorse(t *testing.T) {
	p, text := beside(t, measured("A", 10, 2, record.Setting{Name: "fsync", Value: "off"}), measured("A", 10, 1, record.Setting{Name: "fsync", Value: "off"}, record.Setting{Name: "work_mem", Value: "4MB"}))
	if p.State.Mark != page.Bad || p.Sections[0].ID != "changed" {
		t.Errorf("%v, first is %s", p.State, p.Sections[0].ID)
	}
	for _, want := range []string{"1 of 1 figure got worse", "Exit code 1 of pulley gate", "fanout 10, push, alone: instance latency", "The median is 1.4", "longer", "setting work_mem 4MB –", "pulley gate old new"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	var area bool
	for _, c := range p.Charts() {
		for _, s := range c.Series {
			area = area || s.Name == "95 % band" && len(s.Points) == 11
		}
	}
	if !area {
		t.Error("no shift function has a band at all its quantiles")
	}
}

func TestBesideOfTheSame(t *testing.T) {
	p, text := beside(t, measured("A", 10, 1), measured("A", 10, 1))
	if p.State.Mark != page.Good || !strings.Contains(text, "Exit code 0") || !strings.Contains(text, "In nothing: program, machine") || !strings.Contains(text, "as long") {
		t.Errorf("%v\n%s", p.State, text)
	}
}

// Times of other machines are not compared, and the page must say so.
func TestBesideOfOtherMachines(t *testing.T) {
	p, text := beside(t, measured("B", 10, 2), measured("A", 10, 1))
	if p.State.Mark != page.Unclear || !strings.Contains(text, "machine linux/amd64, A, 2 cores linux/amd64, B, 2 cores") {
		t.Errorf("%v\n%s", p.State, text)
	}
}

// The gate exits as the page says.
func TestGatePage(t *testing.T) {
	for outcome, mark := range map[gate.Outcome]page.Mark{gate.Passed: page.Good, gate.Regression: page.Bad, gate.Inconclusive: page.Unclear} {
		p := changes.Gate(&gate.Report{Outcome: outcome, Sentence: "Because.", Command: []string{"pulley", "gate"}, Doubts: []string{"1", "2", "3", "4", "5", "6", "7"}})
		if p.State.Mark != mark || p.Repeat != "pulley gate" {
			t.Errorf("%s: %v, %q", outcome, p.State, p.Repeat)
		}
	}
}
