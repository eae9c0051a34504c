package record

import "fmt"

// Decision is the result of comparing a candidate with a baseline in one figure. Text, tables and reports share it.
type Decision string

const (
	// Worse means that the figure is shown to differ, by more than the margin, in the bad direction.
	Worse Decision = "worse"
	// Better means the same in the good direction.
	Better Decision = "better"
	// Same means that any difference is shown to be smaller than the margin.
	Same Decision = "same"
	// Unclear means that the runs show none of the three.
	Unclear Decision = "unclear"
)

// Mark is one character for narrow tables: "-" worse, "+" better, "=" same, and benchstat's "~" for unclear.
func (d Decision) Mark() string {
	switch d {
	case Worse:
		return "-"
	case Better:
		return "+"
	case Same:
		return "="
	}
	return "~"
}

// Validate rejects unknown decisions.
func (d Decision) Validate() error {
	switch d {
	case Worse, Better, Same, Unclear:
		return nil
	}
	return fmt.Errorf("decision %q: there are %s, %s, %s and %s", string(d), Worse, Better, Same, Unclear)
}
