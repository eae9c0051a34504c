// Package profile attributes this process's processor time to stages of a node run, from samples of Go's profiler.
//
// The profiler interrupts the program a hundred times per second of processor time and notes the stack. A sample belongs to
// garbage collection if the collector is on its stack, and else to the innermost function of a stage's packages: so the
// standard library counts for its caller. Without such a function it is the runtime's own: scheduler, timers and network
// poller.
//
// A process has one profiler, so only one Recording can be active.
package profile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime/pprof"

	"github.com/google/pprof/profile"
)

// Recording is an active profile. The caller of Begin must end it.
type Recording struct{ written bytes.Buffer }

// Begin begins a recording. It fails while another recording or profile is active.
func Begin() (*Recording, error) {
	r := &Recording{}
	if err := pprof.StartCPUProfile(&r.written); err != nil {
		return nil, fmt.Errorf("profile: %w; end the other one first", err)
	}
	return r, nil
}

// End ends the recording and returns its profile.
func (r *Recording) End() (*Profile, error) {
	pprof.StopCPUProfile()
	p, err := profile.ParseData(r.written.Bytes())
	if err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	return &Profile{samples: p}, nil
}

// Profile is the result of one or more recordings.
type Profile struct{ samples *profile.Profile }

// Samples is the number of samples.
func (p *Profile) Samples() int64 {
	var n int64
	for _, s := range p.samples.Sample {
		n += s.Value[0]
	}
	return n
}

// Shares returns each stage's share; they add up to 1. It is empty without a sample.
func (p *Profile) Shares() map[Stage]float64 {
	all, shares := float64(p.Samples()), map[Stage]float64{}
	for _, s := range p.samples.Sample {
		if s.Value[0] > 0 {
			shares[stageOf(stackOf(s))] += float64(s.Value[0]) / all
		}
	}
	return shares
}

func stackOf(s *profile.Sample) (functions []string) {
	for _, l := range s.Location {
		for _, line := range l.Line { // several if functions are inlined, innermost first
			if line.Function != nil {
				functions = append(functions, line.Function.Name)
			}
		}
	}
	return functions
}

// Merge merges profiles.
func Merge(all ...*Profile) (*Profile, error) {
	if len(all) == 0 {
		return nil, errors.New("profile: there is none to merge")
	}
	list := make([]*profile.Profile, len(all))
	for i, p := range all {
		list[i] = p.samples
	}
	merged, err := profile.Merge(list)
	if err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	return &Profile{samples: merged}, nil
}

// Write writes the profile, compressed, for go tool pprof.
func (p *Profile) Write(w io.Writer) error {
	if err := p.samples.Write(w); err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	return nil
}
