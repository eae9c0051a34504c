// Package cause takes out of errors what their readers are told already.
package cause

import (
	"errors"
	"io/fs"
	"os"
)

// Of is what went wrong with a file, without the operation and the paths, which whoever tells of it names itself. Other errors stay as
// they are.
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
