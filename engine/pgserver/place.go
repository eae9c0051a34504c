package pgserver

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

const (
	superuser    = "postgres"
	database     = "postgres"
	socketPort   = 5432 // names the socket, no port is opened
	socketPrefix = ".s.PGSQL."
	socketFile   = "/" + socketPrefix + "5432"

	// socketPathMax is what fits into a socket's address on macOS; on Linux it is 107.
	socketPathMax = 103
)

// place is where a server of ours lives: a directory for its data, and one for its socket, which are
// the same unless the name of the first is too long for a socket. A standby lives in the same place, with a data
// directory and a socket of the next number; when it takes over, the socket that everybody knows leads to its own.
type place struct {
	data   *runDir
	socket *runDir
	number int // how many servers have been promoted
}

// makePlace makes the directories in the first root that will do, and says when it is not the first.
func (o Options) makePlace(who *account) (*place, error) {
	var unfit []string
	for i, root := range o.roots() {
		p, err := o.tryPlace(root, who)
		if err != nil {
			unfit = append(unfit, fmt.Sprintf("%s: %s", root, plainCause(err)))
			continue
		}
		if i > 0 {
			o.logf("the server's directory is made in %s, not in the preferred place (%s)", root, strings.Join(unfit, "; "))
		}
		return p, nil
	}
	return nil, fmt.Errorf("no place for the server's directory (%s): set TMPDIR to a directory with room that can be written to", strings.Join(unfit, "; "))
}

func (o Options) tryPlace(root string, who *account) (*place, error) {
	if err := who.checkEnter(root); err != nil {
		return nil, err
	}
	if free, err := freeBytes(root); err != nil {
		return nil, err
	} else if free < neededFreeBytes {
		return nil, fmt.Errorf("only %d MB are free, %d are needed", free>>20, neededFreeBytes>>20)
	}
	data, err := makeRunDir(root, who)
	if err != nil {
		return nil, err
	}
	if len(data.path)+len(socketFile) <= socketPathMax {
		return &place{data: data, socket: data}, nil
	}
	socket, err := o.makeSocketDir(who)
	if err != nil {
		(&place{data: data, socket: data}).drop()
		return nil, errors.Join(err, syscall.Rmdir(data.path))
	}
	return &place{data: data, socket: socket}, nil
}

// makeSocketDir makes a directory whose name is short enough for a socket.
func (o Options) makeSocketDir(who *account) (*runDir, error) {
	var unfit error
	for _, root := range o.roots() {
		if len(root)+1+len(runDirPrefix)+12+len(socketFile) > socketPathMax {
			continue
		}
		if err := who.checkEnter(root); err != nil {
			unfit = errors.Join(unfit, err)
			continue
		}
		d, err := makeRunDir(root, who)
		if err == nil {
			return d, nil
		}
		unfit = errors.Join(unfit, err)
	}
	return nil, fmt.Errorf("no directory with a name short enough for a socket: %w", cmp.Or(unfit, errors.New("set TMPDIR to a shorter one")))
}

// dirs names the directories, each once.
func (p *place) dirs() []string {
	if p.socket == p.data {
		return []string{p.data.path}
	}
	return []string{p.data.path, p.socket.path}
}

// left names the directories that are still there.
func (p *place) left() []string {
	return slices.DeleteFunc(p.dirs(), func(dir string) bool {
		_, err := os.Lstat(dir)
		return errors.Is(err, os.ErrNotExist)
	})
}

// drop gives up the locks, after which the directories count as leftovers.
func (p *place) drop() {
	p.data.drop()
	p.socket.drop()
}

func (p *place) cluster() string { return filepath.Join(p.data.path, p.numbered("data")) }
func (p *place) log() string     { return filepath.Join(p.data.path, p.numbered("server")+".log") }

func (p *place) numbered(name string) string {
	if p.number == 0 {
		return name
	}
	return name + "-" + strconv.Itoa(p.number)
}

// port names the server's own socket.
func (p *place) port() string { return strconv.Itoa(socketPort + p.number) }

// dsn is the server's address, which stays the same when a standby takes over.
func (p *place) dsn() string { return p.address(strconv.Itoa(socketPort)) }

// ownDSN is the address of this server and no other.
func (p *place) ownDSN() string { return p.address(p.port()) }

func (p *place) address(port string) string {
	query := url.Values{"host": {p.socket.path}, "port": {port}, "user": {superuser}}
	return (&url.URL{Scheme: "postgres", Path: "/" + database, RawQuery: query.Encode()}).String()
}

// next is the place of a standby.
func (p *place) next() *place {
	return &place{data: p.data, socket: p.socket, number: p.number + 1}
}

// lead has the address lead to this server from now on.
func (p *place) lead() error {
	link := filepath.Join(p.socket.path, "leading")
	if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Symlink(socketPrefix+p.port(), link); err != nil {
		return err
	}
	return os.Rename(link, filepath.Join(p.socket.path, socketFile))
}

// freeBytes is the room that is left for ordinary users on the disk of a directory.
func freeBytes(dir string) (uint64, error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return 0, err
	}
	return fs.Bavail * uint64(fs.Bsize), nil
}

// plainCause is the error without the path and the operation that the caller names itself.
func plainCause(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return err.Error()
}
