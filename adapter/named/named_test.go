package named

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

func TestParse(t *testing.T) {
	dir := t.TempDir()
	self := filepath.Join(dir, "pulley")
	for name, mode := range map[string]os.FileMode{"pulley-adapter-river": 0o755, "pulley-adapter-notes": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	search := func(name string) (string, error) {
		if name == "pulley-adapter-gue" {
			return "/usr/bin/" + name, nil
		}
		return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
	}
	beside := filepath.Join(dir, "pulley-adapter-river")
	serve := func(design string) System { return System{design, []string{self, "adapter", "serve", design}} }
	for text, want := range map[string][]System{
		"push":                                   {serve("push")},
		"push, journal ,pull:scan=sql":           {serve("push"), serve("journal"), serve("pull:scan=sql")},
		"eager:shards=2:batch=1":                 {serve("eager:batch=1:shards=2")},
		"river":                                  {{"river", []string{beside}}},
		"gue,river":                              {{"gue", []string{"/usr/bin/pulley-adapter-gue"}}, {"river", []string{beside}}},
		"exec:sh -c 'a,b' c,d":                   {{"exec:sh -c 'a,b' c,d", []string{"sh", "-c", "a,b", "c,d"}}},
		"push,exec:./adapter,with,commas --flag": {serve("push"), {"exec:./adapter,with,commas --flag", []string{"./adapter,with,commas", "--flag"}}},
	} {
		got, err := parse(text, self, search, nil)
		if err != nil || !slices.EqualFunc(got, want, func(a, b System) bool { return a.Name == b.Name && slices.Equal(a.Command, b.Command) }) {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":           "a system has no name; name designs (push, journal, pull, eager), adapters, or a command, as in exec:./my-adapter",
		"push,,pull": "a system has no name; name designs (push, journal, pull, eager), adapters, or a command, as in exec:./my-adapter",
		"pusch":      `there is no system "pusch", did you mean "push"?`,
		"memory":     "the design memory keeps nothing that several processes could share; choose one of push, journal, pull, eager",
		"pull:scan":  `backend "pull:scan": no option "scan"; it takes pull:scan=app|sql, pull:batch=1…10000, pull:shards=1…1024, pull:connections=2…1000`,
		"./adapter":  "./adapter is no name of a system; write a command as exec:./adapter",
		"a b":        `there is no system "a b"; name designs (push, journal, pull, eager), adapters, or a command, as in exec:./my-adapter`,
		"notes":      "there is no system notes: no program pulley-adapter-notes is beside pulley or in PATH; build it with make adapters, or with go build -o pulley-adapter-notes . in adapters/notes",
		"exec:":      "no adapter; name its program and its arguments, such as exec:./my-adapter --flag",
	} {
		if got, err := parse(text, self, search, nil); err == nil || err.Error() != want {
			t.Errorf("%q: %v, %v; want %s", text, got, err, want)
		}
	}
	denied := func(string) (string, error) { return "", fmt.Errorf("no: %w", os.ErrPermission) }
	if _, err := parse("gue", self, denied, nil); err == nil || err.Error() != "system gue: no: permission denied" {
		t.Errorf("a search that fails: %v", err)
	}
	var missing []string
	got, err := parse("push,river,absent", self, search, func(m *Missing) { missing = append(missing, m.Name) })
	if err != nil || len(got) != 2 || !slices.Equal(missing, []string{"absent"}) {
		t.Errorf("%v without %v, %v", got, missing, err)
	}
	if _, err := parse("pusch", self, search, func(*Missing) { t.Error("a mistake is no missing program") }); err == nil {
		t.Error("a mistake is no error")
	}
}
