package main

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/moby/moby/client"

	"pulley/engine/pgserver/pgimage"
)

// imageCmd makes the image of Postgres that tests of Docker need.
type imageCmd struct{}

// Run makes it unless it is there.
func (*imageCmd) Run(ctx context.Context) (err error) {
	limited, cancel := context.WithTimeout(ctx, pgimage.Within)
	defer cancel()
	docker, err := client.New(client.FromEnv)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, docker.Close()) }()
	return pgimage.Ensure(limited, docker)
}

// beginImage has a process make the image while the tests are compiled, so that the first test of Docker need not wait for
// all of it. Only in CI, where those tests must run. What goes wrong is left to them: they make the image
// themselves, or say why they cannot. end ends the process.
func (p *place) beginImage(ctx context.Context) (end func(), err error) {
	if os.Getenv("CI") != "true" {
		return func() {}, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	making, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = p.run(making, command{args: []string{self, "image"}, out: io.Discard})
	}()
	return func() { cancel(); <-done }, nil
}
