package chart_test

import (
	"bytes"
	"fmt"

	"pulley/reports/chart"
	"pulley/reports/units"
)

// A plot is data. It is drawn for a terminal here; Write draws the same as SVG or PNG.
func ExamplePlot_WriteText() {
	p := chart.Plot{
		Name: "hops", Title: "Median hop", X: chart.Axis{Label: "time", Scale: chart.Log, Unit: units.Nanoseconds}, Y: chart.Axis{Scale: chart.Rows, Names: []string{"chain", "fanout"}},
		Series: []chart.Series{
			{Name: "push", Kind: chart.Dots, Points: []chart.Point{{X: 2e5, Y: 0, Lo: 1e5, Hi: 4e5}, {X: 8e5, Y: 1, Lo: 7e5, Hi: 9e5}}},
			{Name: "pull", Kind: chart.Dots, Style: 1, Points: []chart.Point{{X: 4e6, Y: 0}, {X: 9e6, Y: 1}}},
		},
	}
	var b bytes.Buffer
	p.WriteText(&b, 60)
	fmt.Print(b.String())
	// Output:
	// Median hop
	//     chain | -------a-------                       b
	//    fanout |                     -a-                       b
	//            89.3 µs            time (log)             10.1 ms
	//            a push   b pull
}
