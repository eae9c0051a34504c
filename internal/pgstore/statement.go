package pgstore

import (
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var placeholder = regexp.MustCompile(`\$[0-9]+`)

// CutDown removes unwanted parts of a statement (leaveOut) and renumbers the remaining parameters, whose former indices it
// returns. An idle part costs a small call as much as a used one.
func CutDown(sql string, wanted func(part string) bool) (cut string, parameters []int) {
	cut = placeholder.ReplaceAllStringFunc(leaveOut(sql, wanted), func(p string) string {
		n, _ := strconv.Atoi(p[1:]) // digits only
		at := slices.Index(parameters, n-1)
		if at < 0 {
			at = len(parameters)
			parameters = append(parameters, n-1)
		}
		return "$" + strconv.Itoa(at+1)
	})
	return cut, parameters
}

// leaveOut removes comments and unwanted parts. A part stands between the lines "--[ name" and "--]".
func leaveOut(sql string, wanted func(part string) bool) string {
	var kept strings.Builder
	var open []bool // whether the enclosing parts are wanted
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

// Variant is one of several statements in a file.
type Variant struct {
	File  string   // its name without extension
	Names []string // alternating: a name in braces, its replacement
	Parts []string // the parts to keep, see leaveOut
}

func (v Variant) text(files fs.FS) string {
	text, err := Statement(files, v.File)
	if err != nil {
		panic(err) // the files are embedded
	}
	return leaveOut(strings.NewReplacer(v.Names...).Replace(text), func(part string) bool { return slices.Contains(v.Parts, part) })
}
