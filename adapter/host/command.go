package host

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pulley/adapter/protocol"
	"pulley/internal/nearest"
)

// CommandPrefix begins a command that is written as one text.
const CommandPrefix = "exec:"

var errNoCommand = errors.New("no adapter; name its program and its arguments, such as exec:./my-adapter --flag")

// Command returns the program and the arguments of an adapter, as a user gives it: as words, or as one text, such as
// "exec:./my-adapter --flag 'two words'". In one text, quotes keep blanks, and a backslash keeps the next character; nothing is
// expanded.
func Command(words ...string) ([]string, error) {
	if len(words) == 0 {
		return nil, errNoCommand
	}
	text, isText := strings.CutPrefix(words[0], CommandPrefix)
	argv := append([]string{text}, words[1:]...)
	if isText && len(words) == 1 {
		var err error
		if argv, err = splitWords(text); err != nil {
			return nil, err
		}
	}
	if len(argv) == 0 || argv[0] == "" {
		return nil, errNoCommand
	}
	return argv, nil
}

func splitWords(text string) (words []string, err error) {
	var word strings.Builder
	within, quote, kept := false, rune(0), false
	for _, r := range text {
		switch {
		case kept:
			word.WriteRune(r)
			kept = false
		case r == '\\' && quote != '\'':
			within, kept = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			within, quote = true, r
		case r == ' ' || r == '\t' || r == '\n':
			if within {
				words = append(words, word.String())
				word.Reset()
			}
			within = false
		default:
			within = true
			word.WriteRune(r)
		}
	}
	if quote != 0 || kept {
		return nil, fmt.Errorf("the command %s%s ends within a quotation; close it", CommandPrefix, text)
	}
	if within {
		words = append(words, word.String())
	}
	return words, nil
}

// ParseSettings reads texts of the form name=value.
func ParseSettings(texts []string) (map[string]string, error) {
	settings := map[string]string{}
	for _, text := range texts {
		name, value, found := strings.Cut(text, "=")
		if !found || name == "" {
			return nil, fmt.Errorf("setting %q: write it as NAME=VALUE", text)
		}
		if _, twice := settings[name]; twice {
			return nil, fmt.Errorf("setting %s is there twice; write it once", name)
		}
		settings[name] = value
	}
	return settings, nil
}

// Settings returns the value of every setting that an adapter lists: the given one, or the default. A given name that the
// adapter does not list is a mistake.
func Settings(h *protocol.Hello, given map[string]string) (map[string]string, error) {
	all := map[string]string{}
	var names []string
	for _, s := range h.Settings {
		all[s.Name] = s.Default
		names = append(names, s.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, known := all[name]; !known {
			return nil, unknownSetting(h.Name, name, names)
		}
		all[name] = given[name]
	}
	return all, nil
}

func unknownSetting(adapter, name string, names []string) error {
	switch word := nearest.Word(name, names); {
	case word != "":
		return fmt.Errorf("the adapter %s has no setting %q, did you mean %q?", adapter, name, word)
	case len(names) == 0:
		return fmt.Errorf("the adapter %s has no setting %q, and no others", adapter, name)
	}
	return fmt.Errorf("the adapter %s has no setting %q; it has %s", adapter, name, strings.Join(names, ", "))
}
