package record

import "fmt"

// Figures that a Difference can be of.
const (
	FigureTime       = "time_per_node"
	FigureRowsRead   = "rows_read_per_node"
	FigureStatements = "statements_per_node"
	FigureCommits    = "commits_per_node"
	FigureWALBytes   = "wal_bytes_per_node"
)

// Difference is how one figure of a backend stands to that of the baseline, in the same scenario, size and mode. Less is
// better in every figure.
type Difference struct {
	Scenario string `json:"scenario"`
	Size     int    `json:"size"`
	Mode     string `json:"mode"`
	Backend  string `json:"backend"`
	Baseline string `json:"baseline"`
	// Figure is one of the Figure constants.
	Figure string `json:"figure"`
	// Ratio is backend / baseline. Lo and Hi enclose the true ratio with Confidence. Null where it is not finite, as where
	// the baseline's figure is zero.
	Ratio      *Spread `json:"ratio"`
	Confidence float64 `json:"confidence"`
	// Decision is Better or Worse where the interval leaves out 1, and Unclear where it does not, or cannot at this number of
	// runs.
	Decision Decision `json:"decision"`
	// Warning is empty, or says what limits the decision.
	Warning string `json:"warning,omitempty"`
}

// Difference returns the one of a row and figure, or nil.
func (s *Summary) Difference(k Key, figure string) *Difference {
	for i := range s.Differences {
		d := &s.Differences[i]
		if d.Figure == figure && k == (Key{d.Scenario, d.Backend, d.Size, d.Mode}) {
			return d
		}
	}
	return nil
}

func (d *Difference) validate() error {
	if d.Scenario == "" || d.Backend == "" || d.Baseline == "" || d.Figure == "" {
		return fmt.Errorf("has no scenario, backend, baseline or figure")
	}
	if err := d.Decision.Validate(); err != nil {
		return err
	}
	if r := d.Ratio; r != nil && !(isFigure(r.Lo) && isFigure(r.Hi) && r.Lo <= r.Median && r.Median <= r.Hi) {
		return fmt.Errorf("ratio: lo %v, median %v, hi %v are out of order or not finite", r.Lo, r.Median, r.Hi)
	}
	return nil
}
