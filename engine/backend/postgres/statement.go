package postgres

import (
	"io/fs"
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

// Variant is one of several statements that stand in one file.
type Variant struct {
	File  string   // its name, without what follows the dot
	Names []string // by turns a name in braces, and what is put in its place
	Parts []string // those that it has, see leaveOut
}

func (v Variant) text(files fs.FS) string {
	text, err := Statement(files, v.File)
	if err != nil {
		panic(err) // the files are part of the program
	}
	return leaveOut(strings.NewReplacer(v.Names...).Replace(text), func(part string) bool { return slices.Contains(v.Parts, part) })
}
