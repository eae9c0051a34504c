package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"time"
)

type state struct {
	Next     map[string]uint64  `json:"next"`               // the first untried seed, world or bug, by part
	Seconds  map[string]float64 `json:"seconds"`            // of each package's deep tests
	Last     map[string]string  `json:"last"`               // the day of each package's deep tests
	Baseline string             `json:"baseline,omitempty"` // the gate's baseline commit

	file string
}

func readState(file string) (*state, error) {
	s := &state{Next: map[string]uint64{}, Seconds: map[string]float64{}, Last: map[string]string{}, file: file}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(text, s)
	}
	if err != nil {
		return nil, fmt.Errorf("where the last night stopped cannot be read: %w; mend %s, or remove it to begin anew", err, file)
	}
	return s, nil
}

// perDay is the distance of two days' first seeds.
const perDay = 10_000_000

// next is the first untried number. Without an earlier night it depends on the day, so that two such nights differ.
func (s *state) next(part string) uint64 {
	if n, ok := s.Next[part]; ok {
		return n
	}
	return uint64(time.Now().Unix()/(24*60*60)) * perDay
}

func (s *state) write() error { return writeJSON(s.file, s) }

func (n *night) revision(ctx context.Context) string {
	var out bytes.Buffer
	if err := n.run(ctx, command{args: []string{"git", "describe", "--always", "--dirty", "--abbrev=12"}, out: &out}); err != nil {
		return "unknown"
	}
	return strings.TrimSpace(out.String())
}

func machine() string {
	return fmt.Sprintf("%s, %s/%s, %d processors", runtime.Version(), runtime.GOOS, runtime.GOARCH, processors())
}
