package record

import "fmt"

// Figures of a Difference.
const (
	FigureTime       = "time_per_node"
	FigureRowsRead   = "rows_read_per_node"
	FigureStatements = "statements_per_node"
	FigureCommits    = "commits_per_node"
	FigureWALBytes   = "wal_bytes_per_node"
)

// Difference compares a backend's figure with the baseline's, in the same scenario, size and mode. Less is better in every
// figure.
type Difference struct {
	Scenario string `json:"scenario"`
	Size     int    `json:"size"`
	Mode     string `json:"mode"`
	Backend  string `json:"backend"`
	Baseline string `json:"baseline"`
	Figure   string `json:"figure"`
	// Ratio is backend / baseline. Lo and Hi enclose the true ratio with Confidence. Null if not finite, as when the baseline's
	// figure is zero.
	Ratio      *Spread `json:"ratio"`
	Confidence float64 `json:"confidence"`
	// Decision is Better or Worse if the interval excludes 1, else Unclear, always with too few runs.
	Decision Decision `json:"decision"`
	// a limit of the decision
	Warning string `json:"warning,omitempty"`
}

// Difference returns that of a row and figure, or nil.
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
