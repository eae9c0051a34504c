package postgres

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// placeholder is a parameter in a statement.
var placeholder = regexp.MustCompile(`\$[0-9]+`)

// CutDown leaves parts out of a statement, see leaveOut. The parameters that are left get new numbers, in order; given are the
// places, from 0, that they had before. Each part of a statement costs a small call as much as what it writes, even one with
// nothing to do.
func CutDown(sql string, wanted func(part string) bool) (cut string, parameters []int) {
	cut = placeholder.ReplaceAllStringFunc(leaveOut(sql, wanted), func(p string) string {
		n, _ := strconv.Atoi(p[1:]) // digits alone
		at := slices.Index(parameters, n-1)
		if at < 0 {
			at = len(parameters)
			parameters = append(parameters, n-1)
		}
		return "$" + strconv.Itoa(at+1)
	})
	return cut, parameters
}

// leaveOut leaves out of a statement its remarks and the parts that are not wanted: what stands between a line
// "--[ name" and its "--]".
func leaveOut(sql string, wanted func(part string) bool) string {
	var kept strings.Builder
	var open []bool // whether the parts around a line are wanted
	for line := range strings.Lines(sql) {
		name, begins := strings.CutPrefix(strings.TrimSpace(line), "--[ ")
		switch {
		case begins:
			open = append(open, wanted(name))
		case strings.HasPrefix(line, "--]"):
			open = open[:len(open)-1]
		case strings.HasPrefix(line, "--"), slices.Contains(open, false):
		default:
			kept.WriteString(line)
		}
	}
	return kept.String()
}
