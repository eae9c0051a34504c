package changes_test

import (
	"bytes"
	"image/png"
	"math"
	"strings"
	"testing"

	"pulley/reports/changes"
)

func course(n int) changes.Course {
	c := changes.Course{Title: "fanout/push/100 nodes_per_s"}
	for i := range n {
		level := 1000.0
		if i >= n/2 {
			level = 900
		}
		c.Values = append(c.Values, level+10*math.Sin(float64(i*i)))
	}
	c.Levels = []changes.Level{{From: 0, To: n / 2, Value: 1000}, {From: n / 2, To: n, Value: 900, Name: "0123456789ab+"}}
	return c
}

func TestCourseChart(t *testing.T) {
	chart, err := changes.CourseChart(course(40))
	if err != nil {
		t.Fatal(err)
	}
	var svg, picture bytes.Buffer
	if err := chart.Write(&svg, "svg"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"0123456789ab+", "1,000", "fanout/push/100"} {
		if !strings.Contains(svg.String(), want) {
			t.Errorf("the drawing does not say %q", want)
		}
	}
	if err := chart.Write(&picture, "png"); err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(&picture); err != nil {
		t.Error(err)
	}
}

func TestCourseChartOfOneOrEqualValues(t *testing.T) {
	for _, values := range [][]float64{{5}, {0, 0}, {3, 3, 3}, {-1, 1}} {
		chart, err := changes.CourseChart(changes.Course{Values: values, Levels: []changes.Level{{To: len(values), Value: values[0]}}})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := chart.Write(&b, "svg"); err != nil || strings.Contains(b.String(), "NaN") {
			t.Errorf("%v: %v, or a drawing with NaN", values, err)
		}
	}
}

func TestCourseChartRefuses(t *testing.T) {
	for _, corrupt := range []func(*changes.Course){
		func(c *changes.Course) { c.Values = nil },
		func(c *changes.Course) { c.Values[3] = math.NaN() },
		func(c *changes.Course) { c.Levels[1].To++ },
		func(c *changes.Course) { c.Levels[1].From = c.Levels[1].To },
	} {
		c := course(10)
		corrupt(&c)
		if _, err := changes.CourseChart(c); err == nil {
			t.Errorf("%v, %v: no error", c.Values, c.Levels)
		}
	}
}
