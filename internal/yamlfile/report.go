package yamlfile

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"pulley/engine/ir"
)

// Report collects mistakes. The zero value is empty. It is not safe for concurrent use.
type Report struct {
	mistakes []*ir.Error
}

// Mistakes are sorted by file, line and column.
type Mistakes []*ir.Error

// Error returns a line for each mistake: file:line:col: what is wrong; what to do.
func (m Mistakes) Error() string {
	lines := make([]string, len(m))
	for i, e := range m {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Add adds a mistake.
func (r *Report) Add(pos ir.Pos, format string, args ...any) {
	r.mistakes = append(r.mistakes, ir.Errorf(pos, format, args...))
}

// AddError adds another package's errors: each *ir.Error at its position, anything else at pos. Nil adds none.
func (r *Report) AddError(pos ir.Pos, err error) {
	var placed *ir.Error
	joined, several := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
	case several:
		for _, e := range joined.Unwrap() {
			r.AddError(pos, e)
		}
	case errors.As(err, &placed):
		r.mistakes = append(r.mistakes, placed)
	default:
		for line := range strings.Lines(err.Error()) {
			r.Add(pos, "%s", strings.TrimRight(line, "\n"))
		}
	}
}

// Unwrap returns the mistakes one by one.
func (m Mistakes) Unwrap() []error {
	list := make([]error, len(m))
	for i, e := range m {
		list[i] = e
	}
	return list
}

// Count is the number of mistakes.
func (r *Report) Count() int { return len(r.mistakes) }

// Err returns all mistakes, sorted and without duplicates (as from aliases), as Mistakes; nil if there are none.
func (r *Report) Err() error {
	if len(r.mistakes) == 0 {
		return nil
	}
	list := slices.Clone(r.mistakes)
	slices.SortStableFunc(list, func(a, b *ir.Error) int {
		return cmp.Or(cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
	return Mistakes(slices.CompactFunc(list, func(a, b *ir.Error) bool { return *a == *b }))
}
