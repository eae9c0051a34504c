package claim_test

import (
	"fmt"

	"pulley/bench/claim"
)

// A claim holds if the interval of each of its figures does.
func Example() {
	figure := claim.Figure{Name: "rows read per node", Unit: "rows", Bound: claim.AtMost, Claimed: 4}.Measure([]float64{3.1, 3.2, 3.1, 3.3, 3.2, 3.1})
	judged := claim.Claim{ID: "rows", Figures: []claim.Figure{figure}}.Judge()
	fmt.Println(judged.Verdict, figure.Wanted())
	// Output: holds at most 4 rows
}
