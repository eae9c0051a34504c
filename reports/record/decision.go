package record

import "fmt"

// Decision is what a comparison of two sides says of one figure. Text, tables and reports show the same one.
type Decision string

// The decisions. Each is about the candidate, held against the baseline.
const (
	// Worse says that the figure differs beyond chance, by more than the margin, in the bad direction.
	Worse Decision = "worse"
	// Better says the same of the good direction.
	Better Decision = "better"
	// Same says that any difference is shown to be smaller than the margin.
	Same Decision = "same"
	// Unclear says that the runs show none of the three.
	Unclear Decision = "unclear"
)

// Mark is the decision in one character for narrow tables: "-" worse, "+" better, "=" same, and "~" unclear, which is
// benchstat's sign for it.
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

// Validate reports a decision that does not exist.
func (d Decision) Validate() error {
	switch d {
	case Worse, Better, Same, Unclear:
		return nil
	}
	return fmt.Errorf("decision %q: there are %s, %s, %s and %s", string(d), Worse, Better, Same, Unclear)
}
