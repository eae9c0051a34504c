package changepoint_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"pulley/bench/changepoint"
)

// The series and answers come from the tests of Apache Otava, https://github.com/apache/otava (commit
// 1ceb1537a49d516cf6cef9a79bea6926002082f8, Apache License 2.0). Each names its test.

var (
	steps    = []float64{0.3, 2.4, 1.5, -0.9, -0.5, 99.7, 98.3, 99.1, 149.0, 149.7, 149.5, 149.1, 148.8, 150.0}
	halved   = []float64{1.02, 0.95, 0.99, 1.00, 1.12, 1.00, 1.01, 0.98, 1.01, 0.96, 0.50, 0.51, 0.48, 0.48, 0.55, 0.50, 0.49, 0.51, 0.50, 0.49}
	series1  = []float64{1.02, 0.95, 0.99, 1.00, 1.12, 0.90, 0.50, 0.51, 0.48, 0.48, 0.55}
	series2  = []float64{2.02, 2.03, 2.01, 2.04, 1.82, 1.85, 1.79, 1.81, 1.80, 1.76, 1.78}
	fromZero = []float64{0.0, 0.0, 0.0, 1.00, 1.12, 0.90, 0.50, 0.51, 0.48, 0.48, 0.55}
)

func indexes(points []changepoint.Point) []int {
	out := []int{}
	for _, p := range points {
		out = append(out, p.Index)
	}
	return out
}

func hunt(t *testing.T, values []float64, o changepoint.Options) []int {
	t.Helper()
	points, err := changepoint.Search(values, o)
	if err != nil {
		t.Fatal(err)
	}
	return indexes(points)
}

func TestHuntGivesOtavasAnswers(t *testing.T) {
	for _, c := range []struct {
		name   string
		values []float64
		o      changepoint.Options
		want   []int
	}{
		{"analysis_test.py test_single_series", halved, changepoint.Options{Window: 10, MaxP: 0.0001}, []int{10}},
		{"series_test.py test_change_point_detection, series1", series1, changepoint.Options{}, []int{6}},
		{"series_test.py test_change_point_detection, series2", series2, changepoint.Options{}, []int{4}},
		{"series_test.py test_change_point_min_magnitude, series1", series1, changepoint.Options{MinMagnitude: 0.2}, []int{6}},
		{"series_test.py test_change_point_min_magnitude, series2", series2, changepoint.Options{MinMagnitude: 0.2}, []int{}},
		{"series_test.py test_incremental_otava, series1", append(slices.Clone(series1), 0.5, 0.51), changepoint.Options{}, []int{6}},
		{"csv_e2e_test.py test_analyze_csv, metric1", []float64{154023, 138455, 143112, 149190, 132098, 151344, 155145, 148889, 149466, 148209}, changepoint.Options{}, []int{}},
		{"csv_e2e_test.py test_analyze_csv, metric2", []float64{10.43, 10.23, 10.29, 10.91, 10.34, 10.69, 9.23, 9.11, 9.13, 9.03}, changepoint.Options{}, []int{6}},
		{"change_point_divisive_test.py test_ttest", steps, changepoint.Options{MaxP: 0.001}, []int{5, 8}},
	} {
		if got := hunt(t, c.values, c.o); !slices.Equal(got, c.want) {
			t.Errorf("%s: changes at %v, want %v", c.name, got, c.want)
		}
	}
	// test_div_by_zero expects two changes, the first at 3.
	if got := hunt(t, fromZero, changepoint.Options{}); len(got) != 2 || got[0] != 3 {
		t.Errorf("series_test.py test_div_by_zero: changes at %v, want two, the first at 3", got)
	}
}

// The figures are from report_test.py test_json_report, to the digits that it prints.
func TestHuntGivesOtavasFigures(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   string
	}{
		{series2, "4 -11 0.124108 2.025000 0.011180 1.801429 0.026954 0.000000"},
		{series1, "6 -49 0.977513 0.996667 0.067495 0.504000 0.025768 0.000000"},
	} {
		points, err := changepoint.Search(c.values, changepoint.Options{})
		if err != nil || len(points) != 1 {
			t.Fatalf("%d changes, %v: want one", len(points), err)
		}
		p := points[0]
		got := fmt.Sprintf("%d %.0f %.6f %.6f %.6f %.6f %.6f %.6f", p.Index, 100*(p.After.Mean/p.Before.Mean-1), p.Magnitude(),
			p.Before.Mean, p.Before.SD, p.After.Mean, p.After.SD, p.P)
		if got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

func TestHuntGivesOtavasAnswersForTigerBeetle(t *testing.T) {
	raw, err := os.ReadFile("testdata/tigerbeetle.json")
	if err != nil {
		t.Fatal(err)
	}
	var published struct {
		Values  []float64
		Answers []struct {
			Name         string
			Window       int
			MaxP         float64 `json:"max_p"`
			MinMagnitude float64 `json:"min_magnitude"`
			Indexes      []int
		}
	}
	if err := json.Unmarshal(raw, &published); err != nil || len(published.Answers) != 10 {
		t.Fatalf("%d answers, %v: want 10", len(published.Answers), err)
	}
	for _, a := range published.Answers {
		got := hunt(t, published.Values, changepoint.Options{Window: a.Window, MaxP: a.MaxP, MinMagnitude: a.MinMagnitude})
		if !slices.Equal(got, a.Indexes) {
			t.Errorf("%s: changes at\n%v, want\n%v", a.Name, got, a.Indexes)
		}
	}
}

// The answers are from analysis_test.py test_significance_tester.
func TestTTestGivesOtavasAnswers(t *testing.T) {
	same := []float64{1.00, 1.02, 1.05, 0.95, 0.98, 1.00, 1.02, 1.05, 0.95, 0.98}
	lower := []float64{1.00, 1.02, 1.05, 0.95, 0.98, 0.80, 0.82, 0.85, 0.79, 0.77}
	if p := changepoint.TTest(same, 5); !(0.99 < p && p < 1.01) {
		t.Errorf("p of two alike halves is %v, want 1", p)
	}
	if p := changepoint.TTest(lower, 5); !(0 < p && p < 0.001) {
		t.Errorf("p of a drop by a fifth is %v, want less than 0.001", p)
	}
}

// The answers are from change_point_divisive_test.py test_permutation_test and analysis_test.py test_single_series_original,
// there with one seed.
func TestPermuteGivesOtavasAnswers(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			points, err := changepoint.Permute(steps, changepoint.PermuteOptions{MaxP: 0.05, Permutations: 999, Seed: seed})
			if got := indexes(points); err != nil || !slices.Equal(got, []int{5, 8}) {
				t.Errorf("steps: changes at %v, %v: want 5 and 8", got, err)
			}
			points, err = changepoint.Permute(halved, changepoint.PermuteOptions{MaxP: 0.001, Permutations: 1999, Seed: seed})
			if got := indexes(points); err != nil || !slices.Equal(got, []int{10}) {
				t.Errorf("halved: changes at %v, %v: want 10", got, err)
			}
		})
	}
}
