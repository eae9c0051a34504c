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

var errNoHosts = errors.New("the engines are in no containers; with Docker, --hosts docker has each in one of its own")

// Host implements fault.World.
func (w *World) Host(i int) (fault.Container, error) {
	if !w.hosted {
		return nil, errNoHosts
	}
	if i >= len(w.engines) {
		return nil, nil
	}
	return engineContainer{w.engines[i].host, w.engines[i]}, nil
}

type engineContainer struct {
	*hosts.Host
	engine *engineHost
}

var _ fault.Container = engineContainer{}

func (c engineContainer) Restart(ctx context.Context) error {
	c.engine.expectKill()
	return c.Host.Restart(ctx)
}

func (w *World) openHosts(ctx context.Context, say func(line string)) (err error) {
	if w.hosted {
		w.hosts, err = hosts.Open(ctx, say)
	}
	return err
}

func (w *World) assignHost(ctx context.Context, h *engineHost, command []string) (err error) {
	if w.hosts == nil {
		return nil
	}
	if h.host, err = w.hosts.Add(ctx); err == nil {
		h.launch = launchHosted(h.host, hostedCommand(command))
	}
	return err
}

// hostedCommand adapts a command to a host, where this program's file has another path.
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

func launchHosted(host *hosts.Host, command []string) process.Launcher {
	return func(ctx context.Context, said io.Writer) (process.Execution, io.WriteCloser, io.Reader, error) {
		p, err := host.Start(ctx, command, []string{process.EngineVariable + "=1"}, said)
		if err != nil {
			return nil, nil, nil, err
		}
		return p, p.Stdin, p.Stdout, nil
	}
}
