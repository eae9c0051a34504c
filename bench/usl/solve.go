package usl

import (
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
)

// The law is fitted in the form
//
//	X = N / (a + b(N−1) + cN(N−1)),  a = 1/λ, b = σ/λ, c = κ/λ,
//
// with the logarithms of a, b and c as free variables, which keeps them in bounds. σ = 0 and κ = 0 are then infinitely far
// away; each is a separate problem with fewer variables.

// free marks a problem's variables among a, b and c; the others are 0. a always is one.
type free [3]bool

// faces are the problems, most general first.
var faces = []free{{true, true, true}, {true, true, false}, {true, false, true}, {true, false, false}}

// negligible is the part of X that b or c must contribute at the largest N; otherwise the minimum is taken to be at 0.
const negligible = 1e-7

// near is the initial distance of a search from a bound, relative to the largest N/X.
const near = 1e-3

func solve(points []Point) Law {
	var (
		best  Law
		least = math.Inf(1)
	)
	for _, face := range faces {
		p := newProblem(points, face)
		law, inside := p.bounded(p.minimize())
		if sum := squares(points, law); sum < least*(1-1e-9) {
			best, least = law, sum
		}
		if face == faces[0] && inside {
			break
		}
	}
	return best
}

func squares(points []Point, l Law) (sum float64) {
	for _, p := range points {
		d := p.PerS - l.At(p.N)
		sum += d * d
	}
	return sum
}

type problem struct {
	points []Point
	face   free
	scale  float64 // largest throughput, which scales thresholds
	most   float64
}

func newProblem(points []Point, face free) *problem {
	p := &problem{points: points, face: face}
	for _, q := range points {
		p.scale, p.most = max(p.scale, q.PerS), max(p.most, q.N)
	}
	return p
}

// bounded sets negligible parameters to 0; inside reports that there are none.
func (p *problem) bounded(l Law) (_ Law, inside bool) {
	inside = true
	if l.Sigma*(p.most-1) < negligible {
		l.Sigma, inside = 0, false
	}
	if l.Kappa*p.most*(p.most-1) < negligible {
		l.Kappa, inside = 0, false
	}
	return l, inside
}

func (p *problem) unpack(x []float64) (abc [3]float64) {
	i := 0
	for k, is := range p.face {
		if is {
			abc[k] = math.Exp(x[i])
			i++
		}
	}
	return abc
}

// each calls with each point's residual, divided by the scale, and its derivatives by the variables.
func (p *problem) each(x []float64, with func(residual float64, slopes []float64)) {
	abc := p.unpack(x)
	slopes := make([]float64, len(x))
	for _, q := range p.points {
		terms := [3]float64{abc[0], abc[1] * (q.N - 1), abc[2] * q.N * (q.N - 1)}
		below := terms[0] + terms[1] + terms[2]
		fitted := q.N / below / p.scale
		i := 0
		for k, is := range p.face {
			if is {
				slopes[i] = fitted * terms[k] / below // −dX/d ln(term): the residual's
				i++
			}
		}
		with(q.PerS/p.scale-fitted, slopes)
	}
}

// leverages are the points' influences on the curve, the diagonal of J(JᵀJ)⁻¹Jᵀ with the derivatives J of X by the parameters
// that are not at a bound.
func leverages(points []Point, l Law) []float64 {
	face := free{true, l.Sigma > 0, l.Kappa > 0}
	p := newProblem(points, face)
	var x []float64
	for k, v := range [3]float64{1 / l.Lambda, l.Sigma / l.Lambda, l.Kappa / l.Lambda} {
		if face[k] {
			x = append(x, math.Log(v))
		}
	}
	slopes := mat.NewDense(len(points), len(x), nil)
	i := 0
	p.each(x, func(_ float64, of []float64) {
		slopes.SetRow(i, of)
		i++
	})
	var (
		qr mat.QR
		q  mat.Dense
	)
	qr.Factorize(slopes)
	qr.QTo(&q)
	out := make([]float64, len(points))
	for i := range out {
		for j := range x {
			out[i] += q.At(i, j) * q.At(i, j)
		}
	}
	return out
}

// minimize finds the minimum nearest to a start close to the data, by the Gauss–Newton method.
func (p *problem) minimize() Law {
	x := p.start()
	problem := optimize.Problem{
		Func: func(x []float64) (sum float64) {
			p.each(x, func(r float64, _ []float64) { sum += r * r / 2 })
			return sum
		},
		Grad: func(grad, x []float64) {
			clear(grad)
			p.each(x, func(r float64, slopes []float64) {
				for i, s := range slopes {
					grad[i] += r * s
				}
			})
		},
		Hess: func(hess *mat.SymDense, x []float64) {
			hess.Zero()
			p.each(x, func(_ float64, slopes []float64) {
				hess.SymRankOne(hess, 1, mat.NewVecDense(len(slopes), slopes))
			})
		},
	}
	settings := &optimize.Settings{GradientThreshold: 1e-10, MajorIterations: 200}
	// An error means that the minimum cannot be approached further, as also happens with exact data.
	if found, err := optimize.Minimize(problem, x, settings, &optimize.Newton{}); found != nil && (err == nil || found.F < problem.Func(x)) {
		x = found.X
	}
	abc := p.unpack(x)
	return Law{Lambda: 1 / abc[0], Sigma: abc[1] / abc[0], Kappa: abc[2] / abc[0]}
}

// start solves the linear problem N/X = a + b(N−1) + cN(N−1) with weights X²/N, which measure deviations in X, and moves a
// solution beyond a bound near that bound.
func (p *problem) start() []float64 {
	columns := 0
	for _, is := range p.face {
		if is {
			columns++
		}
	}
	var (
		rows    = mat.NewDense(len(p.points), columns, nil)
		right   = mat.NewVecDense(len(p.points), nil)
		biggest float64 // of N/X
		found   mat.VecDense
	)
	for i, q := range p.points {
		if q.PerS <= 0 {
			continue // its weight is 0
		}
		weight, column := q.PerS*q.PerS/q.N, 0
		for k, term := range [3]float64{1, q.N - 1, q.N * (q.N - 1)} {
			if p.face[k] {
				rows.Set(i, column, weight*term)
				column++
			}
		}
		right.SetVec(i, weight*q.N/q.PerS)
		biggest = max(biggest, q.N/q.PerS)
	}
	if err := found.SolveVec(rows, right); err != nil && found.Len() == 0 {
		found = *mat.NewVecDense(columns, nil)
	}
	var x []float64
	least := [3]float64{biggest, biggest / max(p.most-1, 1), biggest / max(p.most*(p.most-1), 1)}
	for k, is := range p.face {
		if is {
			x = append(x, math.Log(max(found.AtVec(len(x)), least[k]*near)))
		}
	}
	return x
}
