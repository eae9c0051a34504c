package limit

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limit bounds either attempts of some actions, over all engines of a store, or the instances of some workflows in the store.
type Limit struct {
	Name    string   `json:"name"`
	Actions []string `json:"actions"` // which share the limit; at least one, unless it bounds instances

	Concurrency int  `json:"concurrency,omitempty"` // attempts that run at once; zero: any number
	Rate        Rate `json:"rate,omitzero"`         // of starts; zero: any

	Instances int      `json:"instances,omitempty"` // that are submitted and have not ended; zero: the limit bounds attempts
	Workflows []string `json:"workflows,omitempty"` // by the names of their files, without directories; empty: all
}

// Rate is at most Starts in every period of length Per, wherever it begins. Its zero value bounds nothing.
type Rate struct {
	Starts int           `json:"starts"`
	Per    time.Duration `json:"per_ns"`
}

// Bounds of what a limit may say.
const (
	NameMax        = 200 // bytes, of names of limits and of actions
	ActionsMax     = 1000
	ConcurrencyMax = 1_000_000
	StartsMax      = 1_000_000
	InstancesMax   = 1_000_000
	WorkflowsMax   = 1000
	PerMin         = time.Second
	PerMax         = 24 * time.Hour
)

// Validate reports everything that is wrong with a limit.
func (l Limit) Validate() error {
	var errs []error
	if err := checkName(l.Name); err != nil {
		errs = append(errs, fmt.Errorf("the name of a limit %w", err))
	}
	if l.BoundsInstances() || len(l.Workflows) > 0 {
		return errors.Join(append(errs, l.validateInstances())...)
	}
	if len(l.Actions) == 0 || len(l.Actions) > ActionsMax {
		errs = append(errs, fmt.Errorf("a limit has %d actions; give from 1 to %d", len(l.Actions), ActionsMax))
	}
	for i, action := range l.Actions {
		if err := checkName(action); err != nil {
			errs = append(errs, fmt.Errorf("the name of an action %w", err))
		}
		if slices.Contains(l.Actions[:i], action) {
			errs = append(errs, fmt.Errorf("action %q is named twice; name it once", action))
		}
	}
	if l.Concurrency < 0 || l.Concurrency > ConcurrencyMax {
		errs = append(errs, fmt.Errorf("concurrency is %d; give from 1 to %d, or none", l.Concurrency, ConcurrencyMax))
	}
	if l.Rate != (Rate{}) {
		errs = append(errs, l.Rate.validate())
	}
	if l.Concurrency == 0 && l.Rate == (Rate{}) {
		errs = append(errs, errors.New("a limit bounds nothing; give a concurrency, a rate, or both"))
	}
	return errors.Join(errs...)
}

// BoundsInstances reports that the limit bounds instances, and not attempts.
func (l Limit) BoundsInstances() bool { return l.Instances != 0 }

func (l Limit) validateInstances() error {
	var errs []error
	if l.Instances < 1 || l.Instances > InstancesMax {
		errs = append(errs, fmt.Errorf("a limit has %d instances; give from 1 to %d", l.Instances, InstancesMax))
	}
	if len(l.Actions) > 0 || l.Concurrency != 0 || l.Rate != (Rate{}) {
		errs = append(errs, errors.New("a limit bounds instances of workflows or attempts of actions; set one for each"))
	}
	if len(l.Workflows) > WorkflowsMax {
		errs = append(errs, fmt.Errorf("a limit has %d workflows; give at most %d, or none for all", len(l.Workflows), WorkflowsMax))
	}
	for i, workflow := range l.Workflows {
		if err := checkName(workflow); err != nil {
			errs = append(errs, fmt.Errorf("the name of a workflow %w", err))
		}
		if slices.Contains(l.Workflows[:i], workflow) {
			errs = append(errs, fmt.Errorf("workflow %q is named twice; name it once", workflow))
		}
	}
	return errors.Join(errs...)
}

// Covers reports whether the limit bounds the instances of a workflow.
func (l Limit) Covers(workflow string) bool {
	return l.BoundsInstances() && (len(l.Workflows) == 0 || slices.Contains(l.Workflows, workflow))
}

func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("is empty; give one")
	case len(name) > NameMax:
		return fmt.Errorf("has %d bytes; give at most %d", len(name), NameMax)
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\uFFFD' }):
		return fmt.Errorf("is %q; give one of printable text", name)
	}
	return nil
}

func (r Rate) validate() error {
	var errs []error
	if r.Starts < 1 || r.Starts > StartsMax {
		errs = append(errs, fmt.Errorf("a rate allows %d starts; give from 1 to %d", r.Starts, StartsMax))
	}
	if r.Per < PerMin || r.Per > PerMax {
		errs = append(errs, fmt.Errorf("a rate is per %v; give from %v to %v", r.Per, PerMin, PerMax))
	}
	return errors.Join(errs...)
}

// slackPart is the part of a period within which a start must be used.
const slackPart = 40

// Slack is how late a granted start may be used.
func (r Rate) Slack() time.Duration { return r.Per / slackPart }

// Every is the time between two starts, rounded up.
func (r Rate) Every() time.Duration {
	return (r.Per + r.Slack() + time.Duration(r.Starts) - 1) / time.Duration(r.Starts)
}

// ParseRate reads a rate such as 100/s, 10/m, 5/h, 1/d or 30/15s.
func ParseRate(text string) (Rate, error) {
	wrong := fmt.Errorf("rate %q; write starts per period, such as 100/s, 10/m, 5/h or 30/15s", text)
	starts, per, ok := strings.Cut(text, "/")
	if !ok {
		return Rate{}, wrong
	}
	n, err := strconv.Atoi(starts)
	if err != nil {
		return Rate{}, wrong
	}
	r := Rate{Starts: n}
	switch per {
	case "d":
		r.Per = 24 * time.Hour
	case "s", "m", "h":
		per = "1" + per
		fallthrough
	default:
		if r.Per, err = time.ParseDuration(per); err != nil {
			return Rate{}, wrong
		}
	}
	if err := r.validate(); err != nil {
		return Rate{}, fmt.Errorf("rate %q: %w", text, err)
	}
	return r, nil
}

// String returns a rate as ParseRate reads it; that of zero is empty.
func (r Rate) String() string {
	per := ""
	switch r.Per {
	case 0:
		return ""
	case time.Second:
		per = "s"
	case time.Minute:
		per = "m"
	case time.Hour:
		per = "h"
	case 24 * time.Hour:
		per = "d"
	default:
		per = r.Per.String()
	}
	return fmt.Sprintf("%d/%s", r.Starts, per)
}
