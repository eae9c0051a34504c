package world

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"pulley/chaos/cases"
	"pulley/chaos/fault"
)

// Disk is a small tmpfs for a server's data. Its directory has a lock file, which the kernel unlocks when the process ends, so
// that abandoned disks can be told from used ones.
type Disk struct {
	home string
	lock *os.File
}

var _ fault.Disk = (*Disk)(nil)

const (
	// diskSize suffices for a server and some minutes of its log.
	diskSize   = "768m"
	diskPrefix = "pulley-disk-"
	diskLock   = "lock"
)

// mountDisk mounts a disk, which needs root on Linux. It removes what killed runs have left.
func mountDisk() (*Disk, error) {
	unmountLeft(os.TempDir())
	home, err := os.MkdirTemp("", diskPrefix)
	if err != nil {
		return nil, err
	}
	d := &Disk{home: home}
	if err := d.mount(); err != nil {
		return nil, errors.Join(fmt.Errorf("no small disk can be mounted for the server: %w", err), d.remove())
	}
	return d, nil
}

func (d *Disk) mount() (err error) {
	if d.lock, err = lockDisk(d.home, os.O_CREATE); err != nil {
		return err
	}
	if err := errors.Join(os.Mkdir(d.dir(), 0o755), os.Chmod(d.home, 0o755)); err != nil { // servers run under another account
		return err
	}
	return command("mount", "-t", "tmpfs", "-o", "mode=0755,size="+diskSize, "tmpfs", d.dir())
}

// lockDisk locks a disk; an error says that it is in use or does not exist.
func lockDisk(home string, flags int) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(home, diskLock), os.O_RDWR|flags, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// unmountLeft unmounts abandoned disks in a directory. A busy one is left to the next run, since its server is about to end.
func unmountLeft(root string) {
	homes, _ := filepath.Glob(filepath.Join(root, diskPrefix+"*")) // fails only for a malformed pattern
	for _, home := range homes {
		if lock, err := lockDisk(home, 0); err == nil {
			_ = (&Disk{home: home, lock: lock}).Close()
		}
	}
}

func command(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, strings.Join(strings.Fields(string(out)), " "))
	}
	return nil
}

// MountDisk mounts a disk if the plan's faults need one.
func MountDisk(c cases.Case) (*Disk, error) {
	if !slices.ContainsFunc(c.Faults, func(f fault.Fault) bool { return f.Kind == fault.DiskKind }) {
		return nil, nil
	}
	return mountDisk()
}

func (d *Disk) dir() string { return filepath.Join(d.home, "disk") }

func (d *Disk) ballast() string { return filepath.Join(d.dir(), "ballast") }

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// Fill implements fault.Disk.
func (d *Disk) Fill() error {
	f, err := os.Create(d.ballast())
	if err != nil {
		return err
	}
	_, err = io.Copy(f, zeros{})
	if errors.Is(err, syscall.ENOSPC) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

// Free implements fault.Disk.
func (d *Disk) Free() error { return os.Remove(d.ballast()) }

// Close unmounts the disk. Nothing on it may be in use. A nil disk is fine.
func (d *Disk) Close() error {
	if d == nil {
		return nil
	}
	err := command("umount", d.dir())
	if still := os.Remove(d.dir()); still != nil { // still mounted
		return errors.Join(err, still, d.lock.Close())
	}
	return d.remove()
}

func (d *Disk) remove() error {
	err := os.RemoveAll(d.home)
	if d.lock != nil {
		err = errors.Join(err, d.lock.Close())
	}
	return err
}
