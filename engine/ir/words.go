package ir

import "fmt"

// reserved are the words that go.starlark.net does not read as names. What an expression may read cannot have such a name;
// actions, their arguments and error types may.
var reserved = set(
	"and", "as", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except",
	"finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "load", "nonlocal", "not",
	"or", "pass", "raise", "return", "try", "while", "with", "yield",
	"False", "None", "True",
)

var operatorWords = set("and", "or", "not", "in", "if", "else", "for", "False", "None", "True")

// The values of foreign are what to write instead.
var foreign = map[string]string{
	"async":    "write actions under parallel:, or use spread",
	"await":    "an action is waited for where its value is read",
	"class":    "a value is JSON: use a dict",
	"def":      "write fn NAME(input: [...], output: [...]): at the first column of the file",
	"del":      "a value cannot be changed in place: build a new one",
	"finally":  "write what must happen after the try, and in each except",
	"from":     "a program is one file",
	"global":   "pass the value as an input of the function",
	"import":   "a program is one file",
	"is":       "write ==",
	"lambda":   "write a comprehension, or a fn of the program",
	"load":     "a program is one file",
	"nonlocal": "pass the value as an input of the function",
	"raise":    "let an action fail",
	"with":     "write the steps one after the other",
	"yield":    "return a list",
}

// builtins are the functions that an expression may call, each with its keyword arguments; "*" stands for any. A name is one of
// these only where it is called or passed as key: elsewhere it is a variable.
var builtins = map[string]map[string]bool{
	"all":         nil,
	"any":         nil,
	"bool":        nil,
	"dict":        set("*"),
	"enumerate":   set("start"),
	"float":       nil,
	"int":         set("base"),
	"isexception": nil,
	"len":         nil,
	"list":        nil,
	"max":         set("key"),
	"min":         set("key"),
	"range":       nil,
	"reversed":    nil,
	"sorted":      set("key", "reverse"),
	"str":         nil,
	"sum":         nil,
	"zip":         nil,
}

var methods = set(
	"capitalize", "codepoint_ords", "codepoints", "count", "elem_ords", "elems", "endswith", "find", "format",
	"index", "isalnum", "isalpha", "isdigit", "islower", "isspace", "istitle", "isupper", "join", "lower",
	"lstrip", "partition", "removeprefix", "removesuffix", "replace", "rfind", "rindex", "rpartition", "rsplit",
	"rstrip", "split", "splitlines", "startswith", "strip", "title", "upper",
	"get", "items", "keys", "values",
)

// The value is what to write instead.
var changers = map[string]string{
	"append":     "xs = xs + [x]",
	"clear":      "xs = [] or d = {}",
	"extend":     "xs = xs + ys",
	"insert":     "xs = xs[:i] + [x] + xs[i:]",
	"pop":        "x = xs[-1] and xs = xs[:-1]",
	"popitem":    "d = {k: d[k] for k in d.keys()[1:]}",
	"remove":     "xs = [x for x in xs if x != y]",
	"setdefault": "d.get(key, default)",
	"update":     "d = dict(d, key=value)",
}

// Words with a meaning in one place only, and ordinary names elsewhere.
const (
	wordFn       = "fn"
	wordInput    = "input"
	wordOutput   = "output"
	wordSleep    = "sleep"
	wordSpread   = "spread"
	wordLimit    = "limit"
	wordParallel = "parallel"
	wordRetry    = "retry"
	wordBackoff  = "backoff"
	wordTimeout  = "timeout"
	typeAny      = "Exception" // the type that catches every error
	mainName     = "main"
)

// nameFault returns "" for a name that can be given.
func nameFault(name string) string {
	if !reserved[name] {
		return ""
	}
	return fmt.Sprintf("%s is a reserved word and cannot be a name; write %s_ or another one", name, name)
}

func set(words ...string) map[string]bool {
	s := make(map[string]bool, len(words))
	for _, w := range words {
		s[w] = true
	}
	return s
}
