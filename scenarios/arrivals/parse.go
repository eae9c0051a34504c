package arrivals

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

var units = map[string]float64{"ms": 1e-3, "s": 1, "m": 60, "h": 3600}

func parseRate(text string) (float64, error) {
	number, unit, ok := strings.Cut(strings.TrimSpace(text), "/")
	seconds := units[unit]
	v, err := strconv.ParseFloat(number, 64)
	if !ok || seconds == 0 || err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is no rate; write one like 200/s, 12000/m, 0.2/ms or 5/h", text)
	}
	if v /= seconds; v < 0 || v > maxRate {
		return 0, fmt.Errorf("the rate %s is not between 0 and %d/s", text, maxRate)
	}
	return v, nil
}

func parsePositive(text string) (float64, error) {
	v, err := parseRate(text)
	if err == nil && v == 0 {
		err = fmt.Errorf("the rate %s brings nothing; write one above 0", text)
	}
	return v, err
}

func parseRates(text string) (from, to float64, err error) {
	a, b, ok := strings.Cut(text, "..")
	if !ok {
		return 0, 0, fmt.Errorf("%q has no two ends; write FROM..TO, as in 10/s..500/s", text)
	}
	if from, err = parseRate(a); err != nil {
		return 0, 0, err
	}
	if to, err = parseRate(b); err == nil && from == 0 && to == 0 {
		err = fmt.Errorf("the rates %s bring nothing; write one above 0", text)
	}
	return from, to, err
}

func parseSpan(text string) (float64, error) {
	d, err := time.ParseDuration(strings.TrimSpace(text))
	if err != nil || d <= 0 || d > maxSpan {
		return 0, fmt.Errorf("%q is no duration; write one like 30s or 1m30s, above 0 and at most ten years", text)
	}
	return d.Seconds(), nil
}

func spacing(text string) (rest string, poisson bool) {
	if before, ok := strings.CutSuffix(text, ",poisson"); ok {
		return before, true
	}
	return text, false
}

func spaced(p profile, poisson bool) process {
	if poisson {
		return random{p}
	}
	return even{p}
}

func parseClosed(rest string) ([]int, error) {
	var list []int
	for part := range strings.SplitSeq(rest, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		switch {
		case err != nil || n < 1 || n > maxInFlight:
			return nil, fmt.Errorf("%q is no number of instances in flight; write one from 1 to %d, as in closed:16, or several, as in closed:1,16,256", part, maxInFlight)
		case slices.Contains(list, n):
			return nil, fmt.Errorf("%d is there twice", n)
		}
		list = append(list, n)
	}
	return list, nil
}

func parseConstant(rest string) (process, error) {
	if before, poisson := spacing(rest); poisson {
		return nil, fmt.Errorf("random arrivals at one rate have a name of their own; write poisson:%s", before)
	}
	rate, err := parsePositive(rest)
	return even{flat(rate)}, err
}

func parsePoisson(rest string) (process, error) {
	rate, err := parsePositive(rest)
	return random{flat(rate)}, err
}

func parseRamp(rest string) (process, error) {
	rest, poisson := spacing(rest)
	rates, span, ok := strings.Cut(rest, ",")
	if !ok {
		return nil, fmt.Errorf("the time that the ramp takes is missing; write it behind a comma, as in ramp:10/s..500/s,30s")
	}
	var p ramp
	var err error
	if p.from, p.to, err = parseRates(rates); err != nil {
		return nil, err
	}
	p.over, err = parseSpan(span)
	return spaced(p, poisson), err
}

func parseSine(rest string) (process, error) {
	rest, poisson := spacing(rest)
	rates, span, ok := strings.Cut(rest, ",")
	if !ok {
		return nil, fmt.Errorf("the period is missing; write it behind a comma, as in sine:100/s..300/s,60s")
	}
	var p sine
	var err error
	if p.lo, p.hi, err = parseRates(rates); err != nil {
		return nil, err
	}
	if p.hi < p.lo {
		return nil, fmt.Errorf("the rates %s begin with the higher one; write the lower one first", rates)
	}
	p.period, err = parseSpan(span)
	return spaced(p, poisson), err
}

func parseSteps(rest string) (process, error) {
	rest, poisson := spacing(rest)
	parts := strings.Split(rest, ",")
	if len(parts) > maxSteps {
		return nil, fmt.Errorf("there are %d steps; write at most %d", len(parts), maxSteps)
	}
	var p steps
	total := 0.0
	for i, part := range parts {
		rate, span, lasts := strings.Cut(part, "*")
		s := step{lasts: math.Inf(1)}
		var err error
		if s.rate, err = parseRate(rate); err != nil {
			return nil, err
		}
		switch {
		case lasts:
			s.lasts, err = parseSpan(span)
		case i < len(parts)-1:
			err = fmt.Errorf("the step %q has no time; write it as in 100/s*10s", part)
		}
		if err != nil {
			return nil, err
		}
		total += s.rate
		p = append(p, s)
	}
	if total == 0 {
		return nil, fmt.Errorf("all steps have the rate 0, which brings nothing; write one above 0")
	}
	return spaced(p, poisson), nil
}

func parseBurst(rest string) (process, error) {
	rest, poisson := spacing(rest)
	parts := strings.Split(rest, ",")
	if len(parts) < 2 || len(parts) > 3 {
		return nil, fmt.Errorf("%q is no burst; write how many come and how often, as in burst:1000,5s, and the rate between bursts behind them, if there is one", rest)
	}
	size, err := strconv.Atoi(strings.TrimSpace(parts[0]))
	if err != nil || size < 1 || size > maxBurst {
		return nil, fmt.Errorf("%q is no size of a burst; write a number from 1 to %d", parts[0], maxBurst)
	}
	b := burst{size: size, poisson: poisson}
	if b.every, err = parseSpan(parts[1]); err != nil {
		return nil, err
	}
	if len(parts) == 3 {
		b.base, err = parseRate(parts[2])
	} else if poisson {
		err = fmt.Errorf("a burst without a rate between bursts has nothing that could be random; write the rate, as in burst:%s,50/s,poisson", rest)
	}
	return b, err
}

func parseTrace(rest string, read func(string) ([]time.Duration, error)) (process, error) {
	file, factor := rest, 1.0
	if i := strings.LastIndex(rest, ",x"); i >= 0 {
		v, err := strconv.ParseFloat(rest[i+2:], 64)
		if err != nil || !(v >= 1e-6 && v <= 1e6) {
			return nil, fmt.Errorf("%q is no factor; write how many times as fast, from 0.000001 to 1000000, as in trace:FILE,x2", rest[i+1:])
		}
		file, factor = rest[:i], v
	}
	switch {
	case file == "":
		return nil, fmt.Errorf("the file is missing; write trace:FILE")
	case read == nil:
		return nil, fmt.Errorf("a trace is not possible here; write one of the other processes")
	}
	times, err := read(file)
	if err != nil {
		return nil, err
	}
	if len(times) == 0 {
		return nil, fmt.Errorf("%s has no times", file)
	}
	t := trace{file: file, factor: factor}
	for _, d := range times {
		if d < 0 || d > maxSpan {
			return nil, fmt.Errorf("%s: the time %v is not between 0 and ten years", file, d)
		}
		t.times = append(t.times, d.Seconds())
	}
	slices.Sort(t.times)
	return t, nil
}

// rateText parses to the same value.
func rateText(perS float64) string { return strconv.FormatFloat(perS, 'f', -1, 64) + "/s" }

// spanText parses to the same number of nanoseconds.
func spanText(seconds float64) string {
	text := time.Duration(math.Round(seconds * float64(time.Second))).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
