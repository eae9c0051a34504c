package gantt

import (
	"image"
	"math"
	"strconv"
	"time"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"pulley/sim"
)

// columns is how many moments the curves and the heat map distinguish.
const columns = 860

// load is the mean number of running and waiting attempts in each column.
type load struct {
	running, waiting [columns]float64
	column           time.Duration
	place            func(*sim.Attempt) int
}

func loadOf(schedule []*sim.Attempt, end time.Duration, place func(*sim.Attempt) int) load {
	l := load{column: end/columns + 1, place: place}
	for _, a := range schedule {
		spread(l.column, a.Start, a.End, func(i int, part float64) { l.running[i] += part })
		spread(l.column, a.Ready, a.Start, func(i int, part float64) { l.waiting[i] += part })
	}
	return l
}

// spread divides a span among columns, by the part of each that it covers.
func spread(column, from, to time.Duration, add func(i int, part float64)) {
	for i := int(from / column); from < to && i < columns; i++ {
		next := min(to, time.Duration(i+1)*column)
		add(i, float64(next-from)/float64(column))
		from = next
	}
}

// rowsMax is how many groups of workers the heat map distinguishes.
const rowsMax = 240

func (d *drawing) heat() {
	rows := min(rowsMax, d.Workers)
	busy := make([]float64, rows*columns)
	for _, a := range d.Result.Schedule {
		row := min(d.place(a), d.Workers-1) * rows / d.Workers
		spread(d.load.column, a.Start, a.End, func(i int, part float64) { busy[row*columns+i] += part })
	}
	img := image.NewRGBA(image.Rect(0, 0, columns, rows))
	for row := range rows {
		// The workers of a row are those with ⌊number·rows/workers⌋ = row.
		group := ((row+1)*d.Workers+rows-1)/rows - (row*d.Workers+rows-1)/rows
		for i := range columns {
			img.SetRGBA(i, row, mix(paper, kinds[0], min(1, busy[row*columns+i]/float64(group))))
		}
	}
	d.DrawImage(vg.Rectangle{
		Min: vg.Point{X: gutter, Y: d.height - d.top() - d.lanes}, Max: vg.Point{X: d.x(d.end), Y: d.height - d.top()},
	}, img)
}

// curves draws below the lanes how many attempts ran, and how many were ready and waited.
func (d *drawing) curves() {
	top := d.top() + d.lanes + 44
	most := 0.0
	for i := range columns {
		most = max(most, d.load.running[i], d.load.waiting[i])
	}
	if most == 0 {
		return
	}
	most = math.Ceil(most)
	height := func(v float64) vg.Length { return curves * vg.Length(v/most) }
	wide := (d.x(d.end) - gutter) / columns
	d.axis(top, curves)
	var area vg.Path // in one piece: edges between columns would be visible
	at := func(x, y vg.Length) vg.Point { return vg.Point{X: x, Y: d.height - y} }
	area.Move(at(gutter, top+curves))
	for i := range columns {
		h := height(d.load.running[i])
		area.Line(at(gutter+wide*vg.Length(i), top+curves-h))
		area.Line(at(gutter+wide*vg.Length(i+1), top+curves-h))
	}
	area.Line(at(d.x(d.end), top+curves))
	area.Close()
	d.SetColor(mix(kinds[0], paper, 0.35))
	d.Fill(area)
	points := make([]vg.Point, columns)
	for i := range points {
		points[i] = at(gutter+wide*(vg.Length(i)+0.5), top+curves-height(d.load.waiting[i]))
	}
	d.StrokeLines(draw.LineStyle{Color: kinds[1], Width: 1}, points)
	d.text(gutter-6, top, strconv.FormatFloat(most, 'f', -1, 64), textSize, faint, text.XRight, text.YTop)
	d.text(gutter-6, top+curves, "0", textSize, faint, text.XRight, text.YBottom)
	d.rect(gutter, top-15, 9, 9, mix(kinds[0], paper, 0.35))
	d.text(gutter+13, top-16, "running", textSize, faint, text.XLeft, text.YTop)
	d.line(gutter+70, top-10, gutter+84, top-10, kinds[1])
	d.text(gutter+88, top-16, "ready, and waiting for a worker", textSize, faint, text.XLeft, text.YTop)
}
