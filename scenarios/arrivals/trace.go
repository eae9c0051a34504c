package arrivals

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"pulley/internal/cause"
	"pulley/internal/clip"
)

const (
	maxTimes = 10_000_000
	maxLine  = 1 << 20 // bytes
	quoted   = 60      // of a line in an error
)

// TraceHelp describes a trace's file.
const TraceHelp = "one submission a line: seconds since the start (0.25), a duration since the start (250ms), a moment (2026-01-02T15:04:05.25Z), " +
	`or a JSON object with "offset" (either of the first two), "offset_ns", "at" (a moment) or "at_ns" (nanoseconds of any clock); moments count from the earliest one`

// ReadTraceFile reads the times of a trace. The error is one line that names the file, and the line if known.
func ReadTraceFile(file string) ([]time.Duration, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, cause.Of(err))
	}
	defer f.Close()
	return ReadTrace(file, f)
}

// ReadTrace reads the times of a trace since its start, in order, in the format of TraceHelp. It skips empty lines and those
// that begin with #. name is for errors.
func ReadTrace(name string, r io.Reader) ([]time.Duration, error) {
	var (
		times    []int64
		absolute bool
		lines    = bufio.NewScanner(r)
	)
	lines.Buffer(make([]byte, 0, 4096), maxLine)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		at, moment, err := readTime(text)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		case len(times) > 0 && moment != absolute:
			return nil, fmt.Errorf("%s:%d: moments and times since the start are mixed; write all in one way", name, n)
		case len(times) == maxTimes:
			return nil, fmt.Errorf("%s:%d: there are more than %d times; cut the trace", name, n, maxTimes)
		case !moment && (at < 0 || at > int64(maxSpan)):
			return nil, fmt.Errorf("%s:%d: %q is not between 0 and ten years", name, n, clip.Runes(text, quoted))
		}
		times, absolute = append(times, at), moment
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("%s: a line has more than %d bytes; is this a trace? It holds %s", name, maxLine, TraceHelp)
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(times) == 0 {
		return nil, fmt.Errorf("%s: there is no time in it; it holds %s", name, TraceHelp)
	}
	slices.Sort(times)
	first := int64(0)
	if absolute {
		first = times[0]
	}
	out := make([]time.Duration, len(times))
	for i, at := range times {
		if at-first < 0 || at-first > int64(maxSpan) { // the difference may overflow
			return nil, fmt.Errorf("%s: its times are more than ten years apart", name)
		}
		out[i] = time.Duration(at - first)
	}
	return out, nil
}

// readTime returns nanoseconds. moment: they do not count from the start.
func readTime(text string) (at int64, moment bool, err error) {
	if strings.HasPrefix(text, "{") {
		return readObject(text)
	}
	if at, ok := readOffset(text); ok {
		return at, false, nil
	}
	if when, err := time.Parse(time.RFC3339Nano, text); err == nil && isMoment(when) {
		return when.UnixNano(), true, nil
	}
	return 0, false, fmt.Errorf("%q is no time; write %s", clip.Runes(text, quoted), TraceHelp)
}

func isMoment(when time.Time) bool { return when.Year() >= 1700 && when.Year() < 2200 }

func readOffset(text string) (int64, bool) {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		ns := seconds * float64(time.Second)
		if !(ns >= 0 && ns <= float64(maxSpan)) {
			return -1, true
		}
		return int64(ns), true
	}
	d, err := time.ParseDuration(text)
	return int64(d), err == nil
}

// readObject parses a line of NDJSON. It ignores unknown fields, so that the line may be of any log.
func readObject(text string) (at int64, moment bool, err error) {
	var line struct {
		Offset   any          `json:"offset"`
		OffsetNS *json.Number `json:"offset_ns"`
		At       *string      `json:"at"`
		AtNS     *json.Number `json:"at_ns"`
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&line); err != nil {
		return 0, false, fmt.Errorf("it is no JSON object with a time: %w", err)
	}
	bad := func(what any) error {
		return fmt.Errorf("%q is no time; write %s", clip.Runes(fmt.Sprint(what), quoted), TraceHelp)
	}
	switch {
	case line.AtNS != nil:
		at, err := line.AtNS.Int64()
		if err != nil {
			return 0, false, bad(*line.AtNS)
		}
		return at, true, nil
	case line.At != nil:
		when, err := time.Parse(time.RFC3339Nano, *line.At)
		if err != nil || !isMoment(when) {
			return 0, false, bad(*line.At)
		}
		return when.UnixNano(), true, nil
	case line.OffsetNS != nil:
		at, err := line.OffsetNS.Int64()
		if err != nil {
			return 0, false, bad(*line.OffsetNS)
		}
		return at, false, nil
	case line.Offset != nil:
		at, ok := readOffset(fmt.Sprint(line.Offset))
		if !ok {
			return 0, false, bad(line.Offset)
		}
		return at, false, nil
	}
	return 0, false, fmt.Errorf(`the object has no time; write "offset", "offset_ns", "at" or "at_ns"`)
}
