package gantt_test

import (
	"bytes"
	"encoding/xml"
	"image"
	"image/color"
	"image/png"
	"io"
	"strings"
	"testing"
	"time"

	"pulley/sim"
	"pulley/sim/gantt"
)

// two is a schedule with one worker busy in the first half and another in the second.
func two() gantt.Chart {
	return gantt.Chart{
		Title: "two halves", Workers: 2, Marks: []gantt.Mark{{At: time.Second, Name: "half"}, {At: time.Hour, Name: "never"}},
		Result: &sim.Result{Makespan: 2 * time.Second, Schedule: []*sim.Attempt{
			{Node: "load1", Worker: 0, End: time.Second, Fate: sim.Applied},
			{Node: "store_ID0002", Worker: 1, Ready: time.Second / 2, Start: time.Second, End: 2 * time.Second, Fate: sim.Applied},
		}},
	}
}

// many is the same with a hundred times as many workers, too many to draw singly.
func many() gantt.Chart {
	c := two()
	c.Workers = 200
	first, second := *c.Result.Schedule[0], *c.Result.Schedule[1]
	c.Result.Schedule = nil
	for i := range 100 {
		a, b := first, second
		a.Worker, b.Worker = i, 100+i
		c.Result.Schedule = append(c.Result.Schedule, &a, &b)
	}
	return c
}

// TestPictures checks pixels: busy workers are coloured, idle ones are not.
func TestPictures(t *testing.T) {
	for name, c := range map[string]gantt.Chart{"single": two(), "heat": many()} {
		var out bytes.Buffer
		if err := c.Write(&out, "png"); err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(&out)
		if err != nil {
			t.Fatal(err)
		}
		height := 2 * 22.0
		if name == "heat" {
			height = 480
		}
		// Places in points from the top left: lanes begin at 83, the time axis extends from 64 to 944.
		at := func(part float64, lane float64) color.Color {
			return pixel(img, 64+part*880, 83+lane*height)
		}
		busy, idle := []color.Color{at(0.2, 0.25), at(0.7, 0.75)}, []color.Color{at(0.7, 0.25), at(0.2, 0.75)}
		for _, c := range busy {
			if pale(c) {
				t.Errorf("%s: a worker that is busy is drawn %v", name, c)
			}
		}
		for _, c := range idle {
			if !pale(c) {
				t.Errorf("%s: a worker that is idle is drawn %v", name, c)
			}
		}
	}
}

func pixel(img image.Image, x, y float64) color.Color {
	const dpi = 144
	return img.At(int(x*dpi/72), int(y*dpi/72))
}

func pale(c color.Color) bool {
	r, g, b, _ := c.RGBA()
	return min(r, g, b) > 0xe000
}

// TestDrawings checks that drawings are valid XML and name what they show.
func TestDrawings(t *testing.T) {
	for name, c := range map[string]gantt.Chart{"single": two(), "heat": many()} {
		var out bytes.Buffer
		if err := c.Write(&out, "svg"); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		for d := xml.NewDecoder(strings.NewReader(text)); ; {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		for want, there := range map[string]bool{
			">two halves<": true, ">half<": true, ">never<": false, ">1s<": true, ">running<": true, ">load<": name == "single", ">store<": name == "single",
		} {
			if strings.Contains(text, want) != there {
				t.Errorf("%s: %s is there: %t", name, want, !there)
			}
		}
	}
}

// TestNothingToDraw checks that charts without content are refused.
func TestNothingToDraw(t *testing.T) {
	none, flat := two(), two()
	none.Workers, flat.Result = 0, &sim.Result{}
	for _, c := range []gantt.Chart{none, flat} {
		if err := c.Write(io.Discard, "svg"); err == nil {
			t.Errorf("%+v was drawn", c)
		}
	}
	if err := two().Write(io.Discard, "gif"); err == nil || !strings.Contains(err.Error(), "use svg or png") {
		t.Errorf("a format that is not known: %v", err)
	}
}

func TestKindOf(t *testing.T) {
	for name, want := range map[string]string{"mProject_ID0000020": "mProject", "t17": "t", "sum": "sum", "007": "007", "a_b_3": "a_b"} {
		if got := gantt.KindOf(name); got != want {
			t.Errorf("%s is of the kind %s, want %s", name, got, want)
		}
	}
}
