package nearest

import (
	"fmt"
	"strings"
)

// Unknown is the error of a name that is not known.
type Unknown struct {
	Kind  string   // what has the name, such as "backend"
	Name  string   // the unknown one
	Known []string // all that there are
}

// listedMost is how many known names an error lists. Where there are more, it names the nearest one alone.
const listedMost = 8

// Error gives one line, with the nearest name; where none is near, and names are few, with all of them.
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
