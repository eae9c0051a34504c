package simulate

import (
	"errors"
	"fmt"

	"pulley/cmd/pulley/console"
	"pulley/scenarios"
)

var errNoProgram = errors.New("--input is for a program; name a FILE.ir or a FILE.py")

func (o *target) named() (s scenarios.Scenario, size int, err error) {
	name, size, sized, err := scenarios.ParseName(o.Scenario)
	switch {
	case err != nil:
		return s, 0, err
	case name == "":
		return s, 0, errors.New("name what is to be simulated: a scenario, a FILE.ir or a FILE.py, as in pulley forecast fanout=100 --workers 8 --service exp:10ms")
	case sized && size < 1:
		return s, 0, fmt.Errorf("%s=%d: the size is a number, at least 1", name, size)
	}
	if s, err = scenarios.Find(name); err == nil && !sized {
		size = s.DefaultSizes[0]
	}
	return s, size, err
}

func (o *target) mixed(s scenarios.Scenario, size int, opts scenarios.Options) (*scenarios.Mix, error) {
	set, err := scenarios.ParseSet(o.Set)
	if err != nil {
		return nil, fmt.Errorf("--set: %w", err)
	}
	opts.Set = set
	return s.Mix(size, opts)
}

// searched builds a search's workloads: programs whose ends the reference interpreter knows.
func (o *target) searched(c *console.Console) (*scenarios.Mix, error) {
	if o.isProgram() {
		return o.answered(c)
	}
	if o.Input != nil {
		return nil, errNoProgram
	}
	s, size, err := o.named()
	if err != nil {
		return nil, err
	}
	m, err := o.mixed(s, size, scenarios.Options{})
	if err != nil {
		return nil, err
	}
	for i := range m.Workloads {
		switch w := &m.Workloads[i]; {
		case w.Source == "":
			return nil, fmt.Errorf("scenario %s is not written as a program, and the reference interpreter cannot say what is right", w.Name)
		case w.Unchecked.Results:
			return nil, fmt.Errorf("scenario %s says that results are not checked, and here they are what is judged; choose another", w.Name)
		}
	}
	return m, nil
}
