package generate

// chain is sequential actions without a loop: as many nodes in the graph as in a run.
func chain() Shape {
	return Shape{
		Name: "chain", Doc: "actions in a row, each with the result of the one before",
		Parameters: []Parameter{
			{Name: "steps", Doc: "actions", Least: 1, Most: 1 << 40},
			{Name: "action", Doc: "the action of each step; add computes with numbers", Kind: Name, Default: addName},
		},
		write: writeChain,
	}
}

const (
	addName = "add"

	// chainModulus keeps the numbers small.
	chainModulus = 1_000_003
)

func writeChain(w *writer) (Workflow, error) {
	steps, action := w.number("steps"), w.name("action")
	if err := within("nodes", steps, w.limits.Nodes); err != nil {
		return Workflow{}, err
	}
	w.line(0, "fn main(input: [start], output: [value]):")
	w.line(1, "value = start")
	for step := 1; step <= steps; step++ {
		if action == addName { // tripling makes the order of the steps count
			w.line(1, "value = @add(a=value * 3 %% %d, b=%d)", chainModulus, step)
		} else {
			w.line(1, "value = @%s(value=value, step=%d)", action, step)
		}
	}
	w.line(1, "return value")
	return Workflow{}, nil
}

func loop() Shape {
	return Shape{
		Name: "loop", Doc: "loops within each other, of steps in a row, each with the result of the one before",
		Parameters: []Parameter{
			{Name: "iterations", Doc: "rounds of each loop", Least: 0, Most: 1 << 40},
			{Name: "depth", Doc: "loops within each other", Least: 1, Most: 16, Default: "1"},
			{Name: "steps", Doc: "steps in a round of the innermost loop", Least: 1, Most: 1000, Default: "1"},
			actionParameter,
		},
		write: writeLoop,
	}
}

func writeLoop(w *writer) (Workflow, error) {
	if err := within("iterations of one loop", w.number("iterations"), w.limits.LoopIterations); err != nil {
		return Workflow{}, err
	}
	w.line(0, "fn main(input: [start], output: [value]):")
	w.line(1, "value = start")
	depth, names := w.number("depth"), ""
	for level := 1; level <= depth; level++ {
		w.line(level, "for i%d in range(%d):", level, w.number("iterations"))
		if level > 1 {
			names += ", "
		}
		names += "i" + digit(level)
	}
	for step := 1; step <= w.number("steps"); step++ {
		w.line(depth+1, "value = @%s(value=value, round=[%s], step=%d)", w.name("action"), names, step)
	}
	w.line(1, "return value")
	return Workflow{}, nil
}

// branches is sequential decisions, which depend on what was computed before.
func branches() Shape {
	return Shape{
		Name: "branches", Doc: "decisions in a row, each of which takes one of several ways of different length, by the result so far",
		Parameters: []Parameter{
			{Name: "rounds", Doc: "decisions", Least: 0, Most: 1 << 40},
			{Name: "ways", Doc: "ways of each decision; the last has no steps", Least: 2, Most: 100, Default: "3"},
			{Name: "steps", Doc: "steps of each other way", Kind: Law, Least: 1, Most: 1000, Default: "uniform:1..3"},
			actionParameter,
		},
		write: writeBranches,
	}
}

func writeBranches(w *writer) (Workflow, error) {
	if err := within("nodes", w.number("rounds"), w.limits.Nodes); err != nil {
		return Workflow{}, err
	}
	action, ways := w.name("action"), w.number("ways")
	w.line(0, "fn main(input: [start], output: [value]):")
	w.line(1, "value = @%s(start=start)", action)
	for round := 1; round <= w.number("rounds") && !w.over; round++ {
		for way := range ways {
			word := "elif"
			switch {
			case way == 0:
				word = "if"
			case way == ways-1:
				w.line(1, "else:")
				w.line(2, "value = value + %d", round)
				continue
			}
			w.line(1, "%s value %% %d == %d:", word, ways, way)
			for step := 1; step <= w.draw("steps"); step++ {
				w.line(2, "value = @%s(value=value, round=%d, way=%d, step=%d)", action, round, way, step)
			}
		}
	}
	w.line(1, "value = @%s(end=value)", action)
	w.line(1, "return value")
	return Workflow{}, nil
}
