package claims

import (
	"fmt"
	"time"
)

// countdown estimates how long the rest of a measurement takes: the estimates of the experiments left, corrected by how long
// the finished ones took.
type countdown struct{ spent, left time.Duration } // estimates

func newCountdown(cfg Config, chosen []experiment) *countdown {
	c := &countdown{}
	for _, e := range chosen {
		c.left += cfg.estimate(e)
	}
	return c
}

// finish moves an experiment's estimate from what is left to what is spent.
func (c *countdown) finish(estimate time.Duration) {
	c.spent, c.left = c.spent+estimate, c.left-estimate
}

// remaining formats how long the rest takes, if what is finished took so long.
func (c *countdown) remaining(took time.Duration) string {
	left := c.left
	if c.spent > 0 {
		left = time.Duration(float64(left) * float64(took) / float64(c.spent))
	}
	return fmt.Sprintf("about %s left", left.Round(time.Second))
}
