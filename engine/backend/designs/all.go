package designs

import "slices"

// All lists every backend in the forms that keep books differently: once for each word of an option
// that takes words, and once where there is none. Tests that hold for all of them go over this list.
func All() []Spec {
	var specs []Spec
	for _, k := range kinds {
		texts := []string{k.name}
		for _, o := range k.options {
			var more []string
			for _, word := range o.words {
				for _, text := range texts {
					more = append(more, text+":"+o.name+"="+word)
				}
			}
			if more != nil {
				texts = more
			}
		}
		for _, text := range texts {
			s, err := Parse(text)
			if err != nil {
				panic(err) // it was made of the table that Parse reads
			}
			specs = append(specs, s)
		}
	}
	return specs
}

// Durable lists those of All that keep their books in Postgres.
func Durable() []Spec {
	return slices.DeleteFunc(All(), func(s Spec) bool { return !s.NeedsPostgres() })
}
