package pgserver

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is the user that a server runs as, if not the caller. A nil account is the caller; its methods do nothing.
type account struct {
	name     string
	uid, gid uint32
}

// accountNames are tried when the caller is root, as which Postgres does not run.
var accountNames = []string{"postgres", "_postgres", "nobody"}

func serverAccount() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range accountNames {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2); err != nil || uid == 0 {
			continue
		}
		return &account{name: name, uid: uint32(uid), gid: uint32(gid)}, nil
	}
	return nil, errors.New("Postgres does not run as root and there is no account postgres or nobody here: add one, or run as an ordinary user")
}

func (a *account) chown(path string) error {
	if a == nil {
		return nil
	}
	return os.Lchown(path, int(a.uid), int(a.gid))
}

// attributes are those of a process of the account, in its own session: a Ctrl-C on the terminal reaches only our program,
// which then decides about its server.
func (a *account) attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if a != nil {
		attr.Credential = &syscall.Credential{Uid: a.uid, Gid: a.gid}
	}
	return attr
}

// checkEnter returns why the account cannot enter a directory: one on its path is closed to it. It checks only permission bits.
func (a *account) checkEnter(dir string) error {
	if a == nil {
		return nil
	}
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if !a.allows(info, 0o1) {
			return fmt.Errorf("the account %s, which the server runs under because you are root, may not enter %s", a.name, dir)
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// allows checks the permission bits (of the last octal digit) that apply to the account.
func (a *account) allows(info os.FileInfo, bits os.FileMode) bool {
	mode := info.Mode().Perm()
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case ok && stat.Uid == a.uid:
		mode >>= 6
	case ok && stat.Gid == a.gid:
		mode >>= 3
	}
	return mode&bits == bits
}
