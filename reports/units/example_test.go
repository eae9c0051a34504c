package units_test

import (
	"fmt"

	"pulley/reports/units"
)

// Figures have three significant digits, and units that suit them.
func ExampleUnit_Format() {
	fmt.Println(units.Nanoseconds.Format(1_234_567))
	fmt.Println(units.ByteCount.Format(9_870))
	fmt.Println(units.Share.Format(0.0512))
	fmt.Println(units.Percentile.Format(1000))
	fmt.Println(units.Number(12_345.6))
	// Output:
	// 1.23 ms
	// 9.87 kB
	// 5.12 %
	// p99.9
	// 12,346
}
