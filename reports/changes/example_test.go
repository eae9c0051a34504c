package changes_test

import (
	"fmt"
	"strings"

	"pulley/reports/changes"
	"pulley/reports/units"
)

// A page on a figure over months draws it from run to run, with a line where its level changed.
func ExampleCourseChart() {
	chart, err := changes.CourseChart(changes.Course{
		Title: "time of a hop", Caption: "median of each night's run",
		Values: []float64{5.1e6, 5.0e6, 5.2e6, 5.1e6, 6.3e6, 6.2e6, 6.4e6, 6.3e6}, Unit: units.Nanoseconds,
		Levels: []changes.Level{{From: 0, To: 4, Value: 5.1e6}, {From: 4, To: 8, Value: 6.3e6, Name: "4c3f1ab"}},
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
