package load

import (
	"time"

	"pulley/reports/record"
)

// Stages holds how long the stages of node runs took.
type Stages struct{}

func (s *Stages) fill(time.Duration, time.Duration, []record.LoadInterval) []record.LoadStage {
	return []record.LoadStage{}
}
