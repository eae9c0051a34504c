package push

import (
	"encoding/json"
	"errors"
	"fmt"

	"pulley/engine/graph"
	"pulley/engine/plan"
)

// A bundle is a row of the inbox with values of several variables: those that one commit gave to an instance, of variables that
// are written once (plan.Program.WrittenOnce) and whose numbers are near to each other. Its variable is negative, and names all
// bundles of these; its element is the first variable in it. So whoever looks for a value finds it among few rows, however many
// variables a workflow has.
const (
	bundleBits = 5   // a bundle has variables whose numbers agree but for that many bits; apply.sql has it, too
	bundledMax = 256 // bytes: a greater value has a row of its own, so that nobody reads it for one beside it; arguments refer to such only
)

// bundleOf gives what stands for a variable in the key of the bundles in which its value may be.
func bundleOf(v graph.VarID) graph.VarID { return -1 - v>>bundleBits }

// isShared says whether a value goes into a bundle. One with blanks around it does not, since they would be lost.
func isShared(p *plan.Program, w plan.Write) bool {
	n := len(w.Value)
	return 0 < n && n <= bundledMax && w.Value[0] > ' ' && w.Value[n-1] > ' ' && p.WrittenOnce(w.Slot.Var)
}

// errBundle is in the error of a bundle that no commit wrote.
var errBundle = errors.New("a row of the inbox is no list of variables and values")

// eachBundled takes a bundle apart: a list in which each variable stands before its value.
func eachBundled(row []byte, take func(graph.VarID, json.RawMessage)) error {
	var list []json.RawMessage
	if err := json.Unmarshal(row, &list); err != nil {
		return fmt.Errorf("%w: %w", errBundle, err)
	}
	if len(list)%2 != 0 {
		return errBundle
	}
	for i := 0; i < len(list); i += 2 {
		var v graph.VarID
		if err := json.Unmarshal(list[i], &v); err != nil {
			return fmt.Errorf("%w: %w", errBundle, err)
		}
		take(v, list[i+1])
	}
	return nil
}
