package chart

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"pulley/reports/units"
)

const (
	textRows   = 12
	textAxis   = 9 // columns of the labels of an upright axis
	characters = "abcdefghijklmnopqrstuvwxyz"
)

// WriteText draws the plot with characters, in that many columns: a character for each series, "*" where several meet, "-" for an
// interval, and "|" for a limit. It draws nothing of an empty plot.
func (p *Plot) WriteText(b *bytes.Buffer, columns int) {
	t := newTextDrawing(p, columns)
	if t == nil {
		return
	}
	fmt.Fprintf(b, "%s\n", t.Title)
	t.write(b)
}

type textDrawing struct {
	*drawing
	names       []string // left of each line
	cells       [][]rune
	left, width int
}

func newTextDrawing(p *Plot, columns int) *textDrawing {
	t := &textDrawing{drawing: newDrawing(p, wideWidth, false)}
	if len(t.series) == 0 {
		return nil
	}
	rows := textRows
	t.left = textAxis
	if p.Y.Scale == Rows {
		rows = len(t.Y.Names)
		for _, name := range t.Y.Names {
			t.left = max(t.left, min(utf8.RuneCountInString(name), columns/3))
		}
	}
	t.width = max(columns-t.left-2, 20)
	for i := range rows {
		t.names = append(t.names, t.name(i, rows))
		t.cells = append(t.cells, []rune(strings.Repeat(" ", t.width)))
	}
	for i, s := range t.series {
		t.draw(i, s)
	}
	return t
}

// name labels every row, or every fourth line of a scale.
func (t *textDrawing) name(line, lines int) string {
	if t.Y.Scale == Rows {
		return units.Clip(units.Printable(t.Y.Names[line]), t.left)
	}
	if line%4 != 0 && line != lines-1 {
		return ""
	}
	return t.Y.Unit.Format(t.Y.value(1-float64(line)/float64(lines-1), t.y))
}

// value returns what is at a share of the axis.
func (a *Axis) value(share float64, limits [2]float64) float64 {
	if a.Scale == Log {
		return limits[0] * math.Pow(limits[1]/limits[0], share)
	}
	return limits[0] + share*(limits[1]-limits[0])
}

// share is where a value is on the axis, from 0 to 1.
func (a *Axis) share(v float64, limits [2]float64) float64 {
	if a.Scale == Log {
		return math.Log(v/limits[0]) / math.Log(limits[1]/limits[0])
	}
	return (v - limits[0]) / (limits[1] - limits[0])
}

func (t *textDrawing) column(x float64) int {
	return min(max(int(math.Round(t.X.share(x, t.x)*float64(t.width-1))), 0), t.width-1)
}

func (t *textDrawing) line(y float64) int {
	if t.Y.Scale == Rows {
		return min(max(int(math.Round(y)), 0), len(t.cells)-1)
	}
	return min(max(int(math.Round((1-t.Y.share(y, t.y))*float64(len(t.cells)-1))), 0), len(t.cells)-1)
}

func (t *textDrawing) draw(i int, s Series) {
	character := rune(characters[i%len(characters)])
	for _, pt := range s.Points {
		line := t.cells[t.line(pt.Y)]
		switch {
		case s.Kind == Ticks:
			character = '|'
		case s.Kind == Cells || s.Kind == Area:
			continue
		case s.Kind == Spans:
			for x := t.column(pt.X); x <= t.column(pt.To); x++ {
				line[x] = character
			}
			continue
		case t.Y.Scale == Rows:
			for x := t.column(pt.Lo); x <= t.column(pt.Hi); x++ {
				if line[x] == ' ' {
					line[x] = '-'
				}
			}
		}
		switch at := &line[t.column(pt.X)]; *at {
		case ' ', '-', character:
			*at = character
		default:
			*at = '*'
		}
	}
}

func (t *textDrawing) write(b *bytes.Buffer) {
	for i, line := range t.cells {
		fmt.Fprintf(b, "%*s |%s\n", t.left, t.names[i], strings.TrimRight(string(line), " "))
	}
	lo, hi := t.X.Unit.Format(t.x[0]), t.X.Unit.Format(t.x[1])
	middle := t.X.Label
	if t.X.Scale == Log {
		middle += " (log)"
	}
	room := t.width - utf8.RuneCountInString(lo) - utf8.RuneCountInString(hi)
	middle = units.Clip(middle, max(room-2, 1))
	pad := max(room-utf8.RuneCountInString(middle), 2)
	fmt.Fprintf(b, "%*s  %s%s%s%s%s\n", t.left, "", lo, strings.Repeat(" ", pad/2), middle, strings.Repeat(" ", pad-pad/2), hi)
	var legend []string
	for i, s := range t.series {
		switch {
		case s.Kind == Cells || s.Kind == Area || s.Name == "":
			continue // without a name, its row says what it is
		case s.Kind == Ticks:
			legend = append(legend, "| "+units.Printable(s.Name))
		default:
			legend = append(legend, string(characters[i%len(characters)])+" "+units.Printable(s.Name))
		}
	}
	if len(legend) > 0 {
		fmt.Fprintf(b, "%*s  %s\n", t.left, "", strings.Join(legend, "   "))
	}
}
