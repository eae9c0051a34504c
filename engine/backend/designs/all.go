package designs

import "slices"

// All lists every backend in the variants that store things differently: one for each word of an option with words. Tests that
// hold for all designs use this list.
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
				panic(err) // made from the table that Parse reads
			}
			specs = append(specs, s)
		}
	}
	return specs
}

// Durable lists those of All that use Postgres.
func Durable() []Spec {
	return slices.DeleteFunc(All(), func(s Spec) bool { return !s.NeedsPostgres() })
}
