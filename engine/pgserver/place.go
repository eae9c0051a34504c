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
	socketPort   = 5432 // only names the socket; no port is opened
	socketPrefix = ".s.PGSQL."
	socketFile   = "/" + socketPrefix + "5432"

	// socketPathMax is the socket path limit on macOS; on Linux it is 107.
	socketPathMax = 103
)

// place is a server's directories, one for its data and one for its socket, which are the same unless the first one's path is
// too long for a socket. A standby uses the same place, with the next number for its data directory and socket; when it takes
// over, the well-known socket becomes a link to its own.
type place struct {
	data   *runDir
	socket *runDir
	number int // number of promotions
}

// makePlace makes the directories in the first suitable root, and logs if it is not the first.
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

func (p *place) dirs() []string {
	if p.socket == p.data {
		return []string{p.data.path}
	}
	return []string{p.data.path, p.socket.path}
}

func (p *place) left() []string {
	return slices.DeleteFunc(p.dirs(), func(dir string) bool {
		_, err := os.Lstat(dir)
		return errors.Is(err, os.ErrNotExist)
	})
}

// drop releases the locks, after which the directories count as leftovers.
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

func (p *place) port() string { return strconv.Itoa(socketPort + p.number) }

func (p *place) dsn() string { return p.address(strconv.Itoa(socketPort)) }

func (p *place) ownDSN() string { return p.address(p.port()) }

func (p *place) address(port string) string {
	query := url.Values{"host": {p.socket.path}, "port": {port}, "user": {superuser}}
	return (&url.URL{Scheme: "postgres", Path: "/" + database, RawQuery: query.Encode()}).String()
}

func (p *place) next() *place {
	return &place{data: p.data, socket: p.socket, number: p.number + 1}
}

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

// freeBytes is the free space for ordinary users on a directory's disk.
func freeBytes(dir string) (uint64, error) {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return 0, err
	}
	return fs.Bavail * uint64(fs.Bsize), nil
}

// plainCause is the error without path and operation, which the caller names.
func plainCause(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return err.Error()
}
