package world

import (
	"fmt"
	"html"
	"io"
	"time"
)

const (
	svgRows  = 1500
	rowPX    = 14
	lanePX   = 150
	marginPX = 110
	topPX    = 50
)

// SVG draws the trace as a space–time diagram: a vertical line for each process, a mark for each step, a slanted line for each
// message, violations in red. Each row is a step, not a span of time, so that simultaneous steps can be told apart; the margin
// shows the time.
func (t *Trace) SVG(to io.Writer) error {
	d := &diagram{Trace: t, to: to}
	if d.first = len(t.Steps) - svgRows; d.first < 0 {
		d.first = 0
	}
	lanes := t.case_.Engines + 2
	width, height := marginPX+lanes*lanePX+380, topPX+(len(t.Steps)-d.first)*rowPX+20
	d.print(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="10">`, width, height)
	d.print(`<rect width="100%%" height="100%%" fill="#fff"/>`)
	for lane := range lanes {
		x := d.x(lane)
		d.print(`<text x="%d" y="20" text-anchor="middle" font-size="13">%s</text><line x1="%d" y1="30" x2="%d" y2="%d" stroke="#bbb"/>`,
			x, d.laneName(lane), x, x, height)
	}
	d.messages()
	for i := d.first; i < len(t.Steps); i++ {
		d.mark(i)
	}
	d.print(`</svg>`)
	return d.err
}

type diagram struct {
	*Trace
	to    io.Writer
	first int
	err   error
}

func (d *diagram) print(format string, args ...any) {
	if d.err == nil {
		_, d.err = fmt.Fprintf(d.to, format+"\n", args...)
	}
}

func (d *diagram) x(lane int) int { return marginPX + lane*lanePX + lanePX/2 }
func (d *diagram) y(step int) int { return topPX + (step-d.first)*rowPX }

func (d *diagram) laneName(lane int) string {
	switch {
	case lane == 0:
		return "clients"
	case lane <= d.case_.Engines:
		return EngineNames[(lane-1)%len(EngineNames)]
	}
	return "server"
}

func (d *diagram) lane(s *Step) int {
	switch s.place() {
	case "client":
		return 0
	case "server", "":
		return d.case_.Engines + 1
	}
	return 1 + s.Who%d.case_.Engines
}

func (d *diagram) messages() {
	asked, answered := map[int64]int{}, map[int64]int{}
	line := func(from, to int) {
		if from >= d.first {
			d.print(`<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#9bd"/>`, d.x(d.lane(&d.Steps[from])), d.y(from), d.x(d.lane(&d.Steps[to])), d.y(to))
		}
	}
	for i := range d.Steps {
		switch s := &d.Steps[i]; s.What {
		case Sends:
			asked[s.A] = i
		case Served:
			if from, ok := asked[int64(s.Who)]; ok {
				line(from, i)
			}
			delete(asked, int64(s.Who))
			answered[int64(s.Who)] = i
		case Replied:
			if from, ok := answered[s.A]; ok {
				line(from, i)
			}
			delete(answered, s.A)
		}
	}
}

func (d *diagram) mark(i int) {
	s := &d.Steps[i]
	colour, size := "#345", 3
	switch s.What {
	case Violated:
		colour, size = "#d00", 7
	case FaultBegan, Died:
		colour, size = "#e80", 5
	case Committed:
		colour, size = "#080", 4
	}
	x, y := d.x(d.lane(s)), d.y(i)
	text := html.EscapeString(d.Words(s))
	d.print(`<text x="4" y="%d" fill="#888">%s</text><circle cx="%d" cy="%d" r="%d" fill="%s"><title>%s</title></circle><text x="%d" y="%d" fill="%s">%s</text>`,
		y+3, time.Duration(s.At).Round(time.Microsecond), x, y, size, colour, text, x+9, y+3, colour, clip(text))
}

func clip(text string) string {
	const most = 110
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}
