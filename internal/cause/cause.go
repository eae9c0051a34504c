// Package cause shortens errors to what their readers do not know.
package cause

import (
	"errors"
	"io/fs"
	"os"
)

// Of returns a file error without its operation and paths, which the caller names, and other errors unchanged.
func Of(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err
	}
	return err
}
