package python

import "embed"

// files is package pulley. A folder as the pattern would omit files whose names begin with _.
//
//go:embed pulley/*.py pulley/*/*.py pulley/py.typed
var files embed.FS
