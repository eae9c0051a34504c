package reports_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pulley/internal/browsertest"
	"pulley/internal/depth"
)

// shotsDir has what the pages look like. Machines differ in fonts by a little, so that shots are compared loosely.
const shotsDir = "testdata/shots"

// shotDifference is the mean difference of all points, of 255, and shotHeights the relative one of heights, up to which shots are alike.
const (
	shotDifference = 5.0
	shotHeights    = 0.06
)

// windows are the sizes of windows, and how much smaller a shot of the first screen and of the whole page is.
var windows = []struct {
	width, height int
	first, whole  float64
}{{360, 740, 1, 0.5}, {1280, 800, 0.8, 0.35}, {2560, 1400, 0.5, 0.2}}

// wholeMost is the part of a page that a shot of the whole has, in pixels.
const wholeMost = 12_000

// The pages must look like their shots, which were looked at: each kind of record, light and dark, on a phone, a laptop and a large
// screen. go test ./reports -run Shots -update takes them again.
func TestShots(t *testing.T) {
	all := *update || depth.Night()
	for n, k := range kinds {
		for _, scheme := range []string{"light", "dark"} {
			if !all && (scheme == "dark") != (n%2 == 0) {
				continue // a phone in light colours, or a laptop in dark ones, is enough before a change
			}
			t.Run(k.name+"/"+scheme, func(t *testing.T) {
				r := k.make()
				if k.name == "compare" {
					r = campaign(3, 5, 6)
				}
				b := browsertest.New(t)
				b.Media("screen", scheme)
				for i, w := range windows {
					if !all && (i == 2 || (scheme == "dark") != (i == 1)) {
						continue
					}
					b.Size(w.width, w.height)
					b.Open(k.html(t, r))
					name := fmt.Sprintf("%s-%s-%d", k.name, scheme, w.width)
					b.Do(awaitDrawn)
					likeShot(t, name, b.Shot(w.width, w.height, w.first))
					if !all && i != 1 {
						continue
					}
					b.Do(drawAll)
					b.Do(`document.querySelectorAll("details").forEach((d) => { d.open = false; })`)
					height := browsertest.Eval[int](b, `document.documentElement.scrollHeight`)
					likeShot(t, name+"-whole", b.Shot(w.width, min(height, wholeMost), w.whole))
				}
			})
		}
	}
}

func likeShot(t *testing.T, name string, taken []byte) {
	t.Helper()
	path := filepath.Join(shotsDir, name+".png")
	is := decode(t, taken)
	if *update {
		if err := os.MkdirAll(shotsDir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, small(t, is), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(kept) > 150_000 {
		t.Errorf("%s has %d bytes, want 150,000 at most", path, len(kept))
	}
	was := decode(t, kept)
	if a, b := float64(is.Bounds().Dy()), float64(was.Bounds().Dy()); math.Abs(a-b) > shotHeights*b {
		t.Errorf("%s is %v high, was %v (go test ./reports -run Shots -update takes shots again; look at them)", name, a, b)
		return
	}
	if d := difference(is, was); d > shotDifference {
		t.Errorf("%s differs by %.1f of 255 on average, want %.1f at most (go test ./reports -run Shots -update takes shots again; look at them)", name, d, shotDifference)
	}
}

func decode(t *testing.T, data []byte) image.Image {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// difference compares both at 64 columns, as far down as both reach.
func difference(a, b image.Image) float64 {
	x, y := columns64(a), columns64(b)
	n := min(len(x), len(y))
	sum := 0.0
	for i := range n {
		sum += math.Abs(x[i] - y[i])
	}
	return sum / float64(max(n, 1))
}

// columns64 averages square blocks, of which 64 are beside each other, for red, green and blue.
func columns64(img image.Image) []float64 {
	r := img.Bounds()
	block := float64(r.Dx()) / 64
	var out []float64
	for row := 0; float64(row+1)*block <= float64(r.Dy()); row++ {
		for column := range 64 {
			var sum [3]float64
			n := 0
			for y := int(float64(row) * block); y < max(int(float64(row+1)*block), int(float64(row)*block)+1); y++ {
				for x := int(float64(column) * block); x < max(int(float64(column+1)*block), int(float64(column)*block)+1); x++ {
					red, green, blue, _ := img.At(r.Min.X+x, r.Min.Y+y).RGBA()
					sum[0], sum[1], sum[2], n = sum[0]+float64(red>>8), sum[1]+float64(green>>8), sum[2]+float64(blue>>8), n+1
				}
			}
			for _, s := range sum {
				out = append(out, s/float64(n))
			}
		}
	}
	return out
}

// small is a PNG of the 256 most frequent colours, others being the nearest of them.
func small(t *testing.T, img image.Image) []byte {
	t.Helper()
	r := img.Bounds()
	count := map[color.RGBA]int{}
	at := func(x, y int) color.RGBA {
		red, green, blue, _ := img.At(x, y).RGBA()
		six := func(v uint32) uint8 { return uint8(v>>8)&^3 | uint8(v>>14) } // bits
		return color.RGBA{six(red), six(green), six(blue), 255}
	}
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			count[at(x, y)]++
		}
	}
	var colors []color.RGBA
	for c := range count {
		colors = append(colors, c)
	}
	slices.SortFunc(colors, func(a, b color.RGBA) int {
		if d := count[b] - count[a]; d != 0 {
			return d
		}
		return int(a.R)<<16 + int(a.G)<<8 + int(a.B) - int(b.R)<<16 - int(b.G)<<8 - int(b.B)
	})
	var palette color.Palette
	for _, c := range colors[:min(len(colors), 256)] {
		palette = append(palette, c)
	}
	nearest := map[color.RGBA]uint8{}
	out := image.NewPaletted(r, palette)
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			c := at(x, y)
			if _, ok := nearest[c]; !ok {
				nearest[c] = uint8(palette.Index(c))
			}
			out.SetColorIndex(x, y, nearest[c])
		}
	}
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&b, out); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
