package python

import "embed"

// files is package pulley as it stands here. A pattern that named the folder would leave out files whose names begin with _.
//
//go:embed pulley/*.py pulley/*/*.py pulley/py.typed
var files embed.FS
