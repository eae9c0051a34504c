package expr

import (
	"math"
	"math/bits"
	"sync"

	"go.starlark.net/starlark"

	"pulley/engine/ir"
)

// Units of work; stepUnits are a step of the budget.
const (
	stepUnits    = 64
	elementUnits = 16 // two words
	rowUnits     = 64 // a list in a list, without its elements
	dictUnits    = 512
	printUnits   = 4 // of a byte
	compareUnits = 8 // of two small values
)

// One evaluation at a time.
type meter struct {
	thread     starlark.Thread
	steps      uint64
	valueBytes int
	units      int // work not yet charged as steps; below stepUnits
}

const meterKey = "meter"

// meters reuses threads: a new one would cost more than most evaluations.
var meters = sync.Pool{New: func() any {
	m := new(meter)
	m.thread.SetLocal(meterKey, m)
	return m
}}

// newMeter returns a meter with a fresh budget. The caller returns it with release, unless the evaluation panicked.
func newMeter(lim ir.Limits) *meter {
	m := meters.Get().(*meter)
	m.steps = uint64(max(lim.ExpressionSteps, 1))
	m.valueBytes = lim.ValueBytes
	m.units = 0
	m.thread.Steps = 0
	m.thread.SetMaxExecutionSteps(m.steps)
	return m
}

func (m *meter) release() {
	m.thread.Uncancel()
	meters.Put(m)
}

func meterOf(thread *starlark.Thread) *meter {
	return thread.Local(meterKey).(*meter)
}

// work charges before the work is done.
func (m *meter) work(units int) error {
	if units < 0 || units > math.MaxInt-stepUnits {
		return m.stepsError(math.MaxInt)
	}
	m.units += units
	if m.units < stepUnits {
		return nil
	}
	steps := m.units / stepUnits
	m.units %= stepUnits
	if m.thread.Steps+uint64(steps) >= m.steps {
		return m.stepsError(steps)
	}
	m.thread.Steps += uint64(steps)
	return nil
}

func (m *meter) stepsError(more int) *EvalError {
	value := add(int(min(m.thread.Steps, math.MaxInt)), more)
	return limitError("steps of one expression", value, int(min(m.steps, math.MaxInt)))
}

func (m *meter) text(n int) error {
	if n > m.valueBytes {
		return limitError("bytes of a string", n, m.valueBytes)
	}
	return m.work(n)
}

func (m *meter) list(n int) error {
	if n > m.valueBytes {
		return limitError("elements of a list", n, m.valueBytes)
	}
	return m.work(n * elementUnits)
}

// Time linear in the lengths.
func (m *meter) ints(x, y starlark.Int) error {
	return m.work(8 * (words(x) + words(y) - 2))
}

// Time in the product of the lengths.
func (m *meter) products(x, y starlark.Int) error {
	return m.work(mul(words(x), words(y)) - 1)
}

func words(x starlark.Int) int {
	if _, ok := x.Int64(); ok {
		return 1
	}
	return len(x.BigInt().Bits())
}

// mul and add saturate; their operands are not negative.
func mul(a, b int) int {
	hi, lo := bits.Mul(uint(a), uint(b))
	if hi != 0 || lo > math.MaxInt {
		return math.MaxInt
	}
	return int(lo)
}

func add(a, b int) int {
	if a > math.MaxInt-b {
		return math.MaxInt
	}
	return a + b
}
