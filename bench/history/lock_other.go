//go:build !unix

package history

import "os"

// tryLock does nothing: without locks, single writes must suffice.
func tryLock(*os.File) (bool, error) { return true, nil }
