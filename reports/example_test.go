package reports_test

import (
	"fmt"
	"strings"

	"pulley/reports"
)

// A page on a figure over months draws it from run to run, with a line where its level changed.
func ExampleCourseChart() {
	chart, err := reports.CourseChart(reports.Course{
		Title: "time of a hop", Caption: "median of each night's run",
		Values: []float64{5.1, 5.0, 5.2, 5.1, 6.3, 6.2, 6.4, 6.3},
		Label:  func(v float64) string { return fmt.Sprintf("%.1f ms", v) },
		Levels: []reports.Level{{From: 0, To: 4, Value: 5.1}, {From: 4, To: 8, Value: 6.3, Name: "4c3f1ab"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	var svg strings.Builder
	if err := chart.Write(&svg, "svg"); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("names the revision:", strings.Contains(svg.String(), "4c3f1ab"))
	// Output:
	// names the revision: true
}
