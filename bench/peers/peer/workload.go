package peer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Shape is a workflow's structure.
type Shape string

const (
	Chain  Shape = "chain"  // Steps sequential tasks, each with the previous one's payload
	Loop   Shape = "loop"   // Rounds times Steps sequential tasks, as a loop if the system has loops
	Fanout Shape = "fanout" // one task, then Width in parallel, then one that joins them
)

// Load is how instances are started.
type Load string

const (
	Closed  Load = "closed"  // constant number: an instance starts when another has ended
	Backlog Load = "backlog" // all at once
	Single  Load = "single"  // one at a time
)

// Workload is one thing to run.
type Workload struct {
	Name  string `json:"name"`
	Doc   string `json:"doc"`
	Shape Shape  `json:"shape"`
	Load  Load   `json:"load"`

	Steps  int `json:"steps,omitempty"`  // of a chain, or of each round of a loop
	Rounds int `json:"rounds,omitempty"` // of a loop
	Width  int `json:"width,omitempty"`  // of a fan-out
}

// Tasks is how many tasks one instance runs.
func (w Workload) Tasks() int {
	switch w.Shape {
	case Fanout:
		return w.Width + 2
	case Loop:
		return w.Rounds * w.Steps
	default:
		return w.Steps
	}
}

// Validate rejects an invalid workload.
func (w Workload) Validate() error {
	ok := false
	switch w.Shape {
	case Chain:
		ok = w.Steps > 0
	case Loop:
		ok = w.Steps > 0 && w.Rounds > 0
	case Fanout:
		ok = w.Width > 0
	}
	switch {
	case !ok:
		return fmt.Errorf("workload %s: a %q of %d steps, %d rounds and width %d", w.Name, w.Shape, w.Steps, w.Rounds, w.Width)
	case w.Tasks() > stepsMost:
		return fmt.Errorf("workload %s: %d tasks; at most %d", w.Name, w.Tasks(), stepsMost)
	case !slices.Contains([]Load{Closed, Backlog, Single}, w.Load):
		return fmt.Errorf("workload %s: no load %q", w.Name, w.Load)
	}
	return nil
}

// Workloads lists what is raced, in display order.
func Workloads() []Workload {
	return []Workload{
		{Name: "independent", Doc: "tasks that have nothing to do with one another", Shape: Chain, Load: Closed, Steps: 1},
		{Name: "backlog", Doc: "the same, all submitted at once", Shape: Chain, Load: Backlog, Steps: 1},
		{Name: "chain", Doc: "10 tasks in a row, each with what the one before gave", Shape: Chain, Load: Closed, Steps: 10},
		{Name: "fanout", Doc: "one task, then 100 side by side, then one that joins them", Shape: Fanout, Load: Closed, Width: 100},
		{Name: "loop", Doc: "32 rounds of 3 tasks in a row", Shape: Loop, Load: Closed, Rounds: 32, Steps: 3},
		{Name: "latency", Doc: "one task, one at a time, from submission to result", Shape: Chain, Load: Single, Steps: 1},
	}
}

// FindWorkload returns a workload by name. The error lists the choices.
func FindWorkload(name string) (Workload, error) {
	var names []string
	for _, w := range Workloads() {
		if w.Name == name {
			return w, nil
		}
		names = append(names, w.Name)
	}
	return Workload{}, fmt.Errorf("no workload %q; there are %s", name, strings.Join(names, ", "))
}

// PayloadBytes is the length of every task's payload.
const PayloadBytes = 64

// A payload is a number of numberDigits digits and a filling. The number is the instance's times stepsMost plus its completed
// tasks.
const (
	numberDigits = 20
	stepsMost    = 1_000_000
)

var filling = strings.Repeat(".pulley.", 8)[:PayloadBytes-numberDigits]

// Payload is that of an instance's first task.
func Payload(instance int) string { return payload(instance, 0) }

func payload(instance, step int) string {
	return fmt.Sprintf("%0*d%s", numberDigits, int64(instance)*stepsMost+int64(step), filling)
}

// readPayload parses instance and step. An altered payload is an error.
func readPayload(text string) (instance, step int, err error) {
	if len(text) != PayloadBytes || text[numberDigits:] != filling {
		return 0, 0, fmt.Errorf("payload %.80q did not arrive as it was sent", text)
	}
	n, err := strconv.ParseInt(text[:numberDigits], 10, 64)
	if err != nil || n < 0 {
		return 0, 0, fmt.Errorf("payload %.80q did not arrive as it was sent", text)
	}
	return int(n / stepsMost), int(n % stepsMost), nil
}

func (w Workload) want(instance int) string {
	if w.Shape == Fanout {
		sum := int64(0)
		for i := range w.Width {
			sum += member(instance, i)
		}
		return strconv.FormatInt(sum, 10)
	}
	return payload(instance, w.Tasks())
}

// member is the result of a fan-out's element.
func member(instance, element int) int64 { return int64(instance)*1000 + int64(element) }
