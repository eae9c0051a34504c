package designs_test

import (
	"slices"
	"testing"

	"pulley/engine/backend/designs"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"push":                       "push",
		" push ":                     "push",
		"push:batch=1":               "push:batch=1",
		"push:shards=2:batch=1":      "push:batch=1:shards=2",
		"journal:shards=2:batch=1":   "journal:batch=1:shards=2",
		"pull:scan=sql":              "pull:scan=sql",
		"pull:connections=4":         "pull:connections=4",
		"eager:shards=2:batch=1":     "eager:batch=1:shards=2",
		"memory:shards=3":            "memory:shards=3",
		"pull:batch=7:scan=app":      "pull:scan=app:batch=7",
		"push:connections=2:batch=5": "push:batch=5:connections=2",
	} {
		got, err := designs.Parse(text)
		if err != nil || got.String() != want {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
			continue
		}
		again, err := designs.Parse(got.String())
		if err != nil || again.String() != got.String() {
			t.Errorf("%q is not read back: %v", got, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                     `there is no backend ""; there are push, journal, pull, eager, memory`,
		"river":                `there is no backend "river"; there are push, journal, pull, eager, memory`,
		"push:scan=sql":        `backend "push:scan=sql": no option "scan=sql"; it takes push:batch=1…10000, push:shards=1…1024, push:connections=2…1000`,
		"push:batch":           `backend "push:batch": no option "batch"; it takes push:batch=1…10000, push:shards=1…1024, push:connections=2…1000`,
		"pull:scan=regex":      `backend "pull:scan=regex": scan is "regex"; choose app or sql`,
		"push:batch=0":         `backend "push:batch=0": batch is "0"; choose a number from 1 to 10000`,
		"push:batch=many":      `backend "push:batch=many": batch is "many"; choose a number from 1 to 10000`,
		"push:batch=1:":        `backend "push:batch=1:": no option ""; it takes push:batch=1…10000, push:shards=1…1024, push:connections=2…1000`,
		"push:batch=1:batch=2": `backend "push:batch=1:batch=2": the option batch is there twice`,
	} {
		if _, err := designs.Parse(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
	if _, err := designs.ParseAll([]string{"push", "push"}); err == nil {
		t.Error("a backend that is named twice is taken")
	}
}

// TestDurable checks that Durable has every variant except memory.
func TestDurable(t *testing.T) {
	var names []string
	for _, design := range designs.Durable() {
		names = append(names, design.String())
	}
	if want := []string{"push", "journal", "pull:scan=app", "pull:scan=sql", "eager"}; !slices.Equal(names, want) || len(designs.All()) != len(want)+1 {
		t.Errorf("%v of %v, want %v", names, designs.All(), want)
	}
}
