package pgsim

// Texts maps texts of statements to values. Texts are long and looked up for every statement sent, so the map's key is their
// length; equal lengths are compared, which is free for the same text in memory.
type Texts[T any] map[int][]text[T]

type text[T any] struct {
	text string
	is   T
}

// Add maps a text to a value.
func (t Texts[T]) Add(sql string, is T) { t[len(sql)] = append(t[len(sql)], text[T]{sql, is}) }

// Find returns the value of a text, if it is known.
func (t Texts[T]) Find(sql string) (is T, ok bool) {
	for _, known := range t[len(sql)] {
		if known.text == sql {
			return known.is, true
		}
	}
	return is, false
}
