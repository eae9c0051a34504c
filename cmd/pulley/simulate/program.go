package simulate

import (
	"errors"
	"strings"

	"pulley/cmd/pulley/console"
	"pulley/scenarios"
	"pulley/scenarios/behaviour"
)

type target struct {
	Scenario string `arg:"" optional:"" help:"What is simulated: a scenario (pulley list scenarios names them), with =SIZE for another size than its smallest, a scenario's FILE.yaml, or a program, FILE.ir or FILE.py[:Class]."`
	console.SetFlag
	console.InputFlag

	mix     *scenarios.Mix         `kong:"-"`
	workers *console.PythonWorkers `kong:"-"` // for the actions of a FILE.py
}

const programHelp = "Actions of a FILE.py are Python's own, run before the worlds begin: each call that the " +
	"reference interpreter makes is run once, and gives the same in every world, whatever it would give there. How long it takes is drawn.\n\n"

func (o *target) isProgram() bool {
	arg := console.ProgramArg{File: o.Scenario}
	return strings.HasSuffix(o.Scenario, ".ir") || o.Scenario == "-" || arg.IsPython()
}

// program reads FILE.ir or FILE.py and its input. A FILE.py's actions answer through o.workers, which the caller closes.
func (o *target) program(c *console.Console) (scenarios.Workload, error) {
	if len(o.Set) > 0 {
		return scenarios.Workload{}, errors.New("--set is for a scenario's parameters; write --input for a program")
	}
	arg := console.ProgramArg{File: o.Scenario}
	program, text, err := arg.Translate(c)
	if err != nil {
		return scenarios.Workload{}, err
	}
	w := scenarios.Workload{Name: o.Scenario, Size: 1, Graph: program.Graph(), Source: text, Actions: program.Graph().Actions()}
	if o.Scenario == "-" && o.InputText() == "-" {
		return w, errors.New("--input -: standard input is for the program; write --input @FILE")
	}
	if w.Input, err = arg.ReadInput(c, o.InputText(), program); err != nil {
		return w, err
	}
	if arg.IsPython() {
		// One at a time: in a simulated world nothing runs concurrently.
		o.workers, err = arg.StartWorkers(w.Actions, console.WorkersConfig{
			Processes: 1, AtOnce: 1, Log: func(line string) { c.Say("%s", line) }, Problem: func(err error) { c.Say("pulley: %v", err) },
		})
		if err != nil {
			return w, err
		}
		w.Behaviour = behaviour.Of(o.workers.Actions)
	}
	if registry := w.Calls().Instant(); registry.Check(w.Graph) != nil {
		return w, console.Refuse(registry.Check(w.Graph), "pulley: the actions are "+console.ActionNames(registry))
	}
	return w, nil
}

// answered is the program with its actions' recorded answers. A FILE.ir needs none: its built-in actions always answer the
// same.
func (o *target) answered(c *console.Console) (_ *scenarios.Mix, err error) {
	defer func() { err = errors.Join(err, o.closeWorkers()) }()
	w, err := o.program(c)
	if err != nil {
		return nil, err
	}
	if o.workers != nil {
		ctx, stop := console.Interruptible()
		defer stop()
		if w.Answers, err = w.Ask(ctx); err != nil {
			return nil, console.Ended(ctx, err)
		}
		if w.Answers == nil {
			w.Answers = []scenarios.Answer{} // no action is called
		}
	}
	return scenarios.Alone(w), nil
}

func (o *target) closeWorkers() error {
	if o.workers == nil {
		return nil
	}
	err := o.workers.Close()
	o.workers = nil
	return err
}
