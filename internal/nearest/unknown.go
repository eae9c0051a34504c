package nearest

import (
	"fmt"
	"strings"
)

// Unknown is the error of an unknown name.
type Unknown struct {
	Kind  string   // of what has the name, such as "backend"
	Name  string   // the unknown one
	Known []string // all that there are
}

// listedMost bounds the known names that an error lists.
const listedMost = 8

// Error formats one line, with the nearest name, or else with all names if they are few.
func (u *Unknown) Error() string {
	text := fmt.Sprintf("there is no %s %q", u.Kind, u.Name)
	if best := Word(strings.ToLower(u.Name), u.Known); best != "" {
		return text + fmt.Sprintf(", did you mean %q?", best)
	}
	if len(u.Known) <= listedMost {
		text += "; there are " + strings.Join(u.Known, ", ")
	}
	return text
}
