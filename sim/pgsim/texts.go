package pgsim

// Texts holds what stands for statements, by their texts. These are long, and looked up for each statement that is sent: one is known
// by its length, and compared with those that are as long only, which costs nothing where it is the same text in memory.
type Texts[T any] map[int][]text[T]

type text[T any] struct {
	text string
	is   T
}

// Add says what a text stands for.
func (t Texts[T]) Add(sql string, is T) { t[len(sql)] = append(t[len(sql)], text[T]{sql, is}) }

// Find gives what a text stands for, if it is known.
func (t Texts[T]) Find(sql string) (is T, ok bool) {
	for _, known := range t[len(sql)] {
		if known.text == sql {
			return known.is, true
		}
	}
	return is, false
}
