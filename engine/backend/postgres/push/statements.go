package push

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// kinds are what events of a commit can bring, each a part of apply.sql.
type kinds uint8

const (
	completions kinds = 1 << iota
	retries           // among the completions
	instances
	values
	elements
	arrivals
	runs
	ends

	everything kinds = 1<<iota - 1
)

// kindNames are the marks of the parts in apply.sql.
var kindNames = map[string]kinds{
	"completions": completions, "retries": retries, "instances": instances, "values": values,
	"elements": elements, "arrivals": arrivals, "runs": runs, "ends": ends,
}

// smallBatch is how many events a commit has at most that is given a statement of its own kinds. In greater
// ones the parts that have nothing to do cost nothing to speak of.
const smallBatch = 32

// statement is apply.sql for some kinds of events.
type statement struct {
	sql        string
	parameters []int // the places in arrays.args of $1, $2, …
}

// statements are all that can be needed, each made when it is.
var statements [int(everything) + 1]func() statement

func init() {
	for k := range statements {
		statements[k] = sync.OnceValue(func() statement { return cutDown(applySQL, kinds(k)) })
	}
}

// statementFor gives the statement for a commit of n events.
func statementFor(k kinds, n int) (statement, kinds) {
	if n > smallBatch {
		k = everything
	}
	return statements[k](), k
}

// placeholder is a parameter in a statement.
var placeholder = regexp.MustCompile(`\$[0-9]+`)

// cutDown leaves out of apply.sql its remarks and the parts of kinds that are not there. The parameters that
// are left get new numbers, in order.
func cutDown(sql string, k kinds) statement {
	var s statement
	var kept strings.Builder
	var open []kinds // the parts around a line
	for line := range strings.Lines(sql) {
		name, begins := strings.CutPrefix(strings.TrimSpace(line), "--[ ")
		switch {
		case begins:
			open = append(open, kindNames[name])
		case strings.HasPrefix(line, "--]"):
			open = open[:len(open)-1]
		case strings.HasPrefix(line, "--"), slices.ContainsFunc(open, func(part kinds) bool { return k&part == 0 }):
		default:
			kept.WriteString(line)
		}
	}
	s.sql = placeholder.ReplaceAllStringFunc(kept.String(), func(p string) string {
		n, _ := strconv.Atoi(p[1:]) // digits alone
		at := slices.Index(s.parameters, n-1)
		if at < 0 {
			at = len(s.parameters)
			s.parameters = append(s.parameters, n-1)
		}
		return "$" + strconv.Itoa(at+1)
	})
	return s
}
