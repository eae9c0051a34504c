package record

import (
	"fmt"
	"path/filepath"
)

// The files of a forecast.
const (
	ForecastFile = "forecast.json"
	// GanttFile draws the schedule of the first run.
	GanttFile = "gantt.svg"
	// ScheduleFile has the schedule of the first run, an attempt a line.
	ScheduleFile = "schedule.csv"
)

// Forecast is the content of forecast.json: the runs of a simulation without faults. A figure is the median over the runs, with
// an interval.
type Forecast struct {
	Command   []string `json:"command,omitempty"`
	Tool      *Tool    `json:"tool,omitempty"` // null in older files
	Scenario  string   `json:"scenario"`
	Workers   int      `json:"workers"`
	Instances int      `json:"instances"`
	Service   []string `json:"service"`
	Arrivals  string   `json:"arrivals,omitempty"`
	Latency   string   `json:"latency,omitempty"`
	Seed      uint64   `json:"seed"` // of the first run
	Runs      int      `json:"runs"`
	Attempts  int      `json:"attempts"`  // in the first run
	Completed int      `json:"completed"` // instances, in the first run

	Confidence  float64        `json:"confidence"` // of the intervals
	MakespanMS  Spread         `json:"makespan_ms"`
	WorkMS      Spread         `json:"work_ms"`
	Utilisation Spread         `json:"utilisation"`
	SpeedUp     Spread         `json:"speed_up"`
	InSystem    Spread         `json:"instances_in_system"`
	InQueue     Spread         `json:"attempts_in_queue"`
	Waiting     ForecastTimes  `json:"waiting_ms"`
	Latencies   ForecastTimes  `json:"instance_latency_ms"`
	Bounds      ForecastBounds `json:"bounds"`
	// Measured is a run of the same workload on a server; null if none was named.
	Measured *Measured `json:"measured,omitempty"`
	Warnings []string  `json:"warnings"`
}

// ForecastTimes are of one run's distribution, each over the runs.
type ForecastTimes struct {
	Mean Spread `json:"mean"`
	P50  Spread `json:"p50"`
	P90  Spread `json:"p90"`
	P99  Spread `json:"p99"`
	Max  Spread `json:"max"`
}

// Measured is what a run on a server took, beside a forecast of the same workload.
type Measured struct {
	Dir     string   `json:"dir"`
	Command []string `json:"command"`
	Tool    string   `json:"tool"`
	Host    string   `json:"host"` // of Host.Fingerprint
	// Differs are the conditions that the run and the simulation do not share, each a sentence.
	Differs []string        `json:"differs"`
	Rows    []MeasuredTimes `json:"rows"`
}

// MeasuredTimes are how long instances took under one design, from their arrival. Null is unknown.
type MeasuredTimes struct {
	Name      string   `json:"name"`
	Instances int      `json:"instances,omitempty"` // 0: unknown
	P50MS     *float64 `json:"p50_ms"`
	P90MS     *float64 `json:"p90_ms"`
	P99MS     *float64 `json:"p99_ms"`
	MaxMS     *float64 `json:"max_ms"`
}

// ForecastBounds enclose the makespan. Null is unknown, for a reason in the warnings.
type ForecastBounds struct {
	CriticalPathMS *Spread `json:"critical_path_ms"`
	AreaMS         Spread  `json:"area_ms"` // work / workers
	LowerMS        Spread  `json:"lower_ms"`
	UpperMS        *Spread `json:"upper_ms"` // of any schedule without a worker idle while a task is ready
}

// ReadForecast reads the forecast.json in dir.
func ReadForecast(dir string) (*Forecast, error) {
	var f Forecast
	path := filepath.Join(dir, ForecastFile)
	if err := readLoosely(path, &f); err != nil {
		return nil, err
	}
	if f.Scenario == "" || f.Workers < 1 {
		return nil, fmt.Errorf("read %s: it is no forecast: it has no scenario or no workers", path)
	}
	return &f, nil
}
