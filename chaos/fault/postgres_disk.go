package fault

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pulley/internal/pause"
)

// DiskKind is the kind that needs a server on a disk of its own.
const DiskKind = "postgres.disk"

// diskFullStates are the errors of a full disk: no space for a statement; or, if the server crashed because its log had none, a
// recovering server.
var diskFullStates = []string{"53100", "57P03"}

// postgresDisk fills the disk of the server's data. The server may crash, because it cannot write its log, and may be unable to
// recover before there is space.
var postgresDisk = Kind{
	Name:   DiskKind,
	Doc:    "the disk of the server's data is full for a while, so that statements fail, or the server does; then there is room again",
	States: diskFullStates,
	Lacks: func(w World) string {
		if w.Server() == nil {
			return "the server was not started from binaries, so that it has no disk of its own"
		}
		if _, err := w.Disk(); err != nil {
			return err.Error()
		}
		return ""
	},
	Draw: upToLease,
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		disk, err := w.Disk()
		if err != nil {
			return err
		}
		before := w.Failed()
		err = disk.Fill()
		if err == nil {
			err = until(ctx, w, f, diskFullStates, before, nil)
		}
		if freeErr := disk.Free(); freeErr != nil {
			return fmt.Errorf("making room on the server's disk: %w", errors.Join(err, freeErr))
		}
		if backErr := back(ctx, w); backErr != nil {
			return errors.Join(err, backErr)
		}
		over()
		return err
	},
}

const backWithin = 4 * time.Minute

// back waits until the server answers, and starts it if it has ended.
func back(ctx context.Context, w World) error {
	ctx, cancel := context.WithTimeoutCause(ctx, backWithin, fmt.Errorf("the server does not answer within %v", backWithin))
	defer cancel()
	for {
		err := w.Server().Start(ctx)
		if err == nil {
			admin, e := w.Admin(ctx)
			if e == nil {
				return admin.Close(ctx)
			}
			err = e
		}
		if waited := pause.For(ctx, 20*time.Millisecond); waited != nil {
			return fmt.Errorf("%w: %w", waited, err)
		}
	}
}
