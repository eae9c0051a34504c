package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"pulley/chaos/cases"
	"pulley/chaos/process"
	"pulley/cmd/pulley/console"
	"pulley/engine/expr"
	"pulley/engine/reference"
	"pulley/internal/clip"
	"pulley/python"
	"pulley/scenarios"
	"pulley/scenarios/behaviour"
)

const chaosPythonHelp = "A scenario may be a workflow in Python, FILE.py[:Class]. Its actions run in processes of Python that each engine starts, which die with it, and of " +
	"which worker.kill kills some. What is right is found out before: plain Python runs the workflow once, and the reference interpreter runs it twice. Ends and arguments are compared with that. " +
	"Where an action gave different values when it was asked twice, they are compared with nothing, and the run is inconclusive.\n\n"

const workersOfAnEngine = 2

func startChaosWorkers(o process.WorkersConfig) (*process.Workers, error) {
	arg := console.ProgramArg{File: o.Program.File}
	w, err := arg.StartWorkers(o.Actions, console.WorkersConfig{
		Processes: min(workersOfAnEngine, o.AtOnce), AtOnce: o.AtOnce, Log: func(string) {}, Problem: o.Problem,
	})
	if err != nil {
		return nil, err
	}
	return &process.Workers{Actions: w.Actions, Kill: w.Kill, Close: w.Close}, nil
}

// preparePrograms prepares the Python workflows among the scenarios, or in the replayed case.
func (o *chaosCmd) preparePrograms(c *console.Console) error {
	if o.Replay != "" {
		return o.recheckPrograms(c)
	}
	named := 0
	var others []string
	for _, word := range o.Scenarios {
		if _, _, is := python.SplitTarget(word); !is {
			others = append(others, word)
			continue
		}
		named++
		if o.programs[word] != nil {
			continue
		}
		p, err := readChaosProgram(c, word, o.InputText())
		if err != nil {
			return err
		}
		if o.programs == nil {
			o.programs = map[string]*cases.Program{}
		}
		o.programs[word] = p
	}
	programs := slices.ContainsFunc(others, scenarios.IsProgram)
	if o.Input != nil && named == 0 && !programs {
		return errors.New("--input is for a program; name a FILE.ir or a FILE.py")
	}
	if programs {
		var err error
		if o.input, err = o.InputOf(c, others...); err != nil {
			return err
		}
	}
	if len(o.Set) > 0 && named > 0 {
		return errors.New("--set is for a scenario's parameters; write --input for a workflow in Python")
	}
	return nil
}

func readChaosProgram(c *console.Console, target, input string) (*cases.Program, error) {
	arg := console.ProgramArg{File: target}
	program, text, err := arg.Translate(c)
	if err != nil {
		return nil, err
	}
	p := &cases.Program{Text: text}
	if p.Input, err = arg.ReadInput(c, input, program); err != nil {
		return nil, err
	}
	file, _, _ := python.SplitTarget(target)
	if p.File, err = filepath.Abs(file); err != nil {
		return nil, err
	}
	w := scenarios.Workload{Name: target, Graph: program.Graph(), Source: text, Input: p.Input, Actions: program.Graph().Actions()}
	outcomes, err := runTwice(c, p, w)
	if err != nil || len(p.Unsteady) > 0 {
		return p, err
	}
	plain, err := arg.RunPlain(p.Input)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(outcomes, func(o reference.Outcome) bool { return sameAsPlain(&arg, o, plain) }) {
		return nil, fmt.Errorf("%s: plain Python %s, and the workflow that it is translated to %s; where the file does nothing else in another process, this is a bug in pulley, please report it",
			target, describePlain(plain), outcomes[0].Describe())
	}
	c.Say("%s: plain Python %s; so do two runs of the reference interpreter", target, describePlain(plain))
	return p, nil
}

// runTwice asks the actions for their answers twice, and runs the reference interpreter with each.
func runTwice(c *console.Console, p *cases.Program, w scenarios.Workload) (outcomes []reference.Outcome, err error) {
	err = withAnswers(c, p, w, func(ask func() ([]scenarios.Answer, error)) error {
		if p.Answers, err = ask(); err != nil {
			return err
		}
		again, err := ask()
		if err != nil {
			return err
		}
		p.Unsteady, err = scenarios.Changed(p.Answers, again)
		return err
	})
	if err != nil {
		return nil, err
	}
	w.Answers = p.Answers
	if outcomes, err = w.Possible(); err != nil {
		return nil, err
	}
	if len(p.Unsteady) > 0 {
		c.Say("%s: asked twice, @%s gave different values; how instances end, and what actions receive, will be compared with nothing", w.Name, strings.Join(p.Unsteady, ", @"))
	}
	return outcomes, nil
}

func withAnswers(c *console.Console, p *cases.Program, w scenarios.Workload, use func(ask func() ([]scenarios.Answer, error)) error) (err error) {
	arg := console.ProgramArg{File: p.File}
	workers, err := arg.StartWorkers(w.Actions, console.WorkersConfig{
		Processes: 1, AtOnce: 1, Log: func(line string) { c.Say("%s", line) }, Problem: func(err error) { c.Say("pulley: %v", err) },
	})
	if err != nil {
		return err
	}
	defer func() {
		if closing := workers.Close(); err == nil {
			err = closing
		}
	}()
	if unknown := workers.Actions.Check(w.Graph); unknown != nil {
		return console.Refuse(unknown, "pulley: the actions are "+console.ActionNames(workers.Actions))
	}
	w.Behaviour = behaviour.Of(workers.Actions)
	ctx, stop := console.Interruptible()
	defer stop()
	return console.Ended(ctx, use(func() ([]scenarios.Answer, error) { return w.Ask(ctx) }))
}

func sameAsPlain(arg *console.ProgramArg, o reference.Outcome, plain *python.Outcome) bool {
	if o.Status == reference.Completed || plain.Error == nil {
		got, err := expr.Decode(plain.Result, expr.Unlimited)
		return err == nil && plain.Error == nil && o.Status == reference.Completed && reference.Same(o.Result, got)
	}
	typ, message := arg.Error(o.Error.Type, o.Error.Message)
	return typ == plain.Error.Type && message == plain.Error.Message
}

func describePlain(o *python.Outcome) string {
	if o.Error != nil {
		return "fails with " + o.Error.Type + ": " + clip.Runes(console.OneLine(o.Error.Message), plainMax)
	}
	return "gives " + clip.Runes(string(o.Result), plainMax)
}

// plainMax bounds a quote, in characters.
const plainMax = 200

func (o *chaosCmd) recheckPrograms(c *console.Console) error {
	kase, err := cases.Load(o.Replay)
	if err != nil {
		return err
	}
	built, err := kase.Build(true)
	if err != nil {
		return err
	}
	for i, p := range built.Programs {
		if p == nil || len(p.Unsteady) > 0 {
			continue
		}
		err := withAnswers(c, p, built.Workloads[i], func(ask func() ([]scenarios.Answer, error)) error {
			now, err := ask()
			if err != nil {
				return err
			}
			changed, err := scenarios.Changed(p.Answers, now)
			if err == nil && len(changed) > 0 {
				err = fmt.Errorf("%s: @%s gives other values than when the case was written; run the workflow anew, without --replay", p.File, strings.Join(changed, ", @"))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
