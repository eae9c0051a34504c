package expr

import (
	"math"
	"math/bits"
	"sync"

	"go.starlark.net/starlark"

	"pulley/engine/ir"
)

// Units of work. A step of the budget stands for stepUnits of them.
const (
	stepUnits    = 64
	elementUnits = 16 // an element of a list: two words
	rowUnits     = 64 // a list in a list, without its elements
	dictUnits    = 512
	printUnits   = 4 // a byte of a value in print
	compareUnits = 8 // one comparison of two small values
)

// meter runs evaluations, one at a time, and counts what each of them does.
type meter struct {
	thread     starlark.Thread
	steps      uint64 // that an evaluation may take
	valueBytes int    // that a value may have
	units      int    // of work done that is not yet charged as steps; below stepUnits
}

const meterKey = "meter"

// meters keeps threads for reuse: a new one for each evaluation would cost more than most of them.
var meters = sync.Pool{New: func() any {
	m := new(meter)
	m.thread.SetLocal(meterKey, m)
	return m
}}

// newMeter gives a meter with a fresh budget. The caller returns it with release, unless the
// evaluation panicked.
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

// work charges units of work. The caller calls it before it does the work.
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

// stepsError refuses to do that many steps more.
func (m *meter) stepsError(more int) *EvalError {
	value := add(int(min(m.thread.Steps, math.MaxInt)), more)
	return limitError("steps of one expression", value, int(min(m.steps, math.MaxInt)))
}

// text charges the making of a string of n bytes.
func (m *meter) text(n int) error {
	if n > m.valueBytes {
		return limitError("bytes of a string", n, m.valueBytes)
	}
	return m.work(n)
}

// list charges the making of a list of n elements.
func (m *meter) list(n int) error {
	if n > m.valueBytes {
		return limitError("elements of a list", n, m.valueBytes)
	}
	return m.work(n * elementUnits)
}

// ints charges arithmetic on two ints that takes time in proportion to the sum of their lengths.
func (m *meter) ints(x, y starlark.Int) error {
	return m.work(8 * (words(x) + words(y) - 2))
}

// products charges arithmetic on two ints that takes time in proportion to the product of their lengths.
func (m *meter) products(x, y starlark.Int) error {
	return m.work(mul(words(x), words(y)) - 1)
}

// words is the length of an int in machine words; a small one has 1.
func words(x starlark.Int) int {
	if _, ok := x.Int64(); ok {
		return 1
	}
	return len(x.BigInt().Bits())
}

// mul and add multiply and add what is not negative, and stop at the largest int.
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
