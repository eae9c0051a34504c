package world

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"

	"pulley/chaos/fault"
	"pulley/chaos/hosts"
	"pulley/chaos/process"
)

// errNoHosts says what to do about engines without containers.
var errNoHosts = errors.New("the engines are in no containers; with Docker, --hosts docker has each in one of its own")

// Host implements fault.World.
func (w *World) Host(i int) (fault.Container, error) {
	if !w.hosted {
		return nil, errNoHosts
	}
	if i >= len(w.engines) { // there are none yet
		return nil, nil
	}
	return engineContainer{w.engines[i].host, w.engines[i]}, nil
}

// engineContainer is the container that an engine is in.
type engineContainer struct {
	*hosts.Host
	engine *engineHost
}

var _ fault.Container = engineContainer{}

// Restart implements fault.Container.
func (c engineContainer) Restart(ctx context.Context) error {
	c.engine.expectKill()
	return c.Host.Restart(ctx)
}

// openHosts makes the network of the engines' hosts, if they have some.
func (w *World) openHosts(ctx context.Context, say func(line string)) (err error) {
	if w.hosted {
		w.hosts, err = hosts.Open(ctx, say)
	}
	return err
}

// assignHost gives an engine a host, if engines have some.
func (w *World) assignHost(ctx context.Context, h *engineHost, command []string) (err error) {
	if w.hosts == nil {
		return nil
	}
	if h.host, err = w.hosts.Add(ctx); err == nil {
		h.launch = launchHosted(h.host, hostedCommand(command))
	}
	return err
}

// hostedCommand is a command as a host has it: this process's own file is elsewhere there.
func hostedCommand(command []string) []string {
	hosted := slices.Clone(command)
	own, err := os.Executable()
	if err != nil {
		return hosted
	}
	self, err := os.Stat(own)
	if err != nil {
		return hosted
	}
	for i, word := range hosted {
		if info, err := os.Stat(word); err == nil && os.SameFile(info, self) {
			hosted[i] = hosts.Program
		}
	}
	return hosted
}

// launchHosted launches a command in a host.
func launchHosted(host *hosts.Host, command []string) process.Launcher {
	return func(ctx context.Context, said io.Writer) (process.Execution, io.WriteCloser, io.Reader, error) {
		p, err := host.Start(ctx, command, []string{process.EngineVariable + "=1"}, said)
		if err != nil {
			return nil, nil, nil, err
		}
		return p, p.Stdin, p.Stdout, nil
	}
}
