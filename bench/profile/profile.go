// Package profile says what this process spent its processor time on while something was measured, by stage of a node run, from the
// samples of Go's own profiler.
//
// The profiler interrupts what runs, a hundred times for each second of processor time, and notes the stack. A sample belongs to
// garbage collection if the collector is anywhere on its stack, and else to the innermost function that is of a stage's packages: what
// the standard library does counts for whoever called it. What has no such function is the runtime's own: its scheduler, timers and
// the network poller.
//
// A process has one profiler: while one Recording is under way no other can begin.
package profile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime/pprof"

	"github.com/google/pprof/profile"
)

// Recording is a profile under way. Who begins it ends it.
type Recording struct{ written bytes.Buffer }

// Begin begins to record. It fails while another recording, or a profile of somebody else's, is under way.
func Begin() (*Recording, error) {
	r := &Recording{}
	if err := pprof.StartCPUProfile(&r.written); err != nil {
		return nil, fmt.Errorf("profile: %w; end the other one first", err)
	}
	return r, nil
}

// End ends the recording, and gives what it found.
func (r *Recording) End() (*Profile, error) {
	pprof.StopCPUProfile()
	p, err := profile.ParseData(r.written.Bytes())
	if err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	return &Profile{samples: p}, nil
}

// Profile is what one recording found, or several together.
type Profile struct{ samples *profile.Profile }

// Samples is how many samples there are.
func (p *Profile) Samples() int64 {
	var n int64
	for _, s := range p.samples.Sample {
		n += s.Value[0]
	}
	return n
}

// Shares gives the part of each stage that has one. They add up to 1; without a sample there are none.
func (p *Profile) Shares() map[Stage]float64 {
	all, shares := float64(p.Samples()), map[Stage]float64{}
	for _, s := range p.samples.Sample {
		if s.Value[0] > 0 {
			shares[stageOf(stackOf(s))] += float64(s.Value[0]) / all
		}
	}
	return shares
}

// stackOf gives the functions of a sample, the innermost first.
func stackOf(s *profile.Sample) (functions []string) {
	for _, l := range s.Location {
		for _, line := range l.Line { // several where functions are inlined, the innermost first
			if line.Function != nil {
				functions = append(functions, line.Function.Name)
			}
		}
	}
	return functions
}

// Merge puts profiles together.
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

// Write writes the profile as go tool pprof reads it, compressed.
func (p *Profile) Write(w io.Writer) error {
	if err := p.samples.Write(w); err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	return nil
}
