package serving

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"pulley/bench/measure"
	"pulley/cmd/pulley/console"
	"pulley/cmd/pulley/stored"
	"pulley/internal/cause"
	"pulley/reports"
	"pulley/reports/instances"
	"pulley/reports/serve"
)

// ServeCmd is pulley serve.
type ServeCmd struct {
	Dir       string `arg:"" optional:"" default:"out" help:"The directory below which commands wrote their records with --out. Default: out."`
	Listen    string `default:"127.0.0.1:8090" placeholder:"HOST:PORT" help:"Where to listen; port 0 takes a free one. An address that other machines can reach needs a token. Default: 127.0.0.1:8090."`
	TokenFile string `placeholder:"FILE" help:"A file with the token that a browser must have, of 16 characters at least. Default: none on a loopback address, else a new one, which is printed."`
	Instances bool   `help:"Show the instances of a store in place of runs: --dsn, --backend and --schema name it. The account needs no more rights than pulley schema grants --read-only gives."`
	console.StoreFlags
	Alias []string `placeholder:"NAME" help:"Another name by which browsers reach the server, such as that of a proxy; may be repeated."`
}

// Help completes the command's help.
func (ServeCmd) Help() string {
	return "It lists the runs below the directory, shows the report of each, and follows a run in progress. Reports are made of the records when they are opened; " +
		"nothing is written, and nothing outside of the directory is read, nor are symbolic links followed.\n\n" +
		"The address is printed to standard output, with a new token if there is one. Opened once, it gives the browser a cookie. A line for each request goes to standard error; -q leaves it out. " +
		"The server speaks HTTP without encryption: beyond a network that you trust, reach it through a tunnel or a proxy.\n\n" +
		"With --instances it shows a store instead: a list of its instances, and for each what it waits for, its workflow with where it stands in it, its input, and its result or error. It only reads, and " +
		"a standby will do.\n\n" +
		"Exit status: 130 after Ctrl-C, 143 after SIGTERM; 2 for a mistake in the command line, or an address that cannot be used.\n\n" +
		"Examples:\n\n  pulley serve out\n  pulley serve /srv/runs --listen 0.0.0.0:8090 --token-file token\n  pulley serve --instances --dsn postgres://me@localhost/work"
}

// Run serves until it is interrupted.
func (o *ServeCmd) Run(c *console.Console) error {
	if _, _, err := net.SplitHostPort(o.Listen); err != nil {
		return fmt.Errorf("--listen %s: write HOST:PORT, as in 127.0.0.1:8090", o.Listen)
	}
	switch {
	case o.Instances && o.Dir != "out":
		return fmt.Errorf("%s: --instances shows a store, and no directory; leave one out", o.Dir)
	case !o.Instances && (o.DSN != "" || o.Schema != ""):
		return errors.New("--dsn and --schema are for --instances")
	}
	token, printed, err := o.token(c)
	if err != nil {
		return err
	}
	ctx, stop := console.Interruptible()
	defer stop()
	var listening net.ListenConfig
	l, err := listening.Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return fmt.Errorf("--listen %s: %w; choose another address", o.Listen, cause.Of(err))
	}
	defer func() { _ = l.Close() }() // Serve has closed it, unless it was not called
	config := serve.Config{Dir: o.Dir, Address: o.address(l), Token: token, Names: o.Alias, Beside: reports.Beside, Log: func(line string) { c.Say("%s", line) }}
	what := o.Dir
	if o.Instances {
		store, closing, err := stored.OpenShown(ctx, &o.StoreFlags, "pulley serve")
		if err != nil {
			return console.Ended(ctx, err)
		}
		defer closing()
		config.Dir, config.Beside, config.Instances = "", nil, instances.Store{Backend: store.Shown, Name: store.Place, Tool: measure.Tool("pulley").String()}
		what = "the instances of " + store.Place
	}
	s, err := serve.New(config)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	if err := c.Print("http://" + reachable(o.address(l)) + "/" + printed + "\n"); err != nil {
		return err
	}
	c.Say("pulley: serving %s; Ctrl-C ends it", what)
	if err := s.Serve(ctx, l); err != nil {
		return err
	}
	return console.Ended(ctx, context.Cause(ctx))
}

// address is the given host with the port that was taken.
func (o *ServeCmd) address(l net.Listener) string {
	host, _, _ := net.SplitHostPort(o.Listen) // checked
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return o.Listen
	}
	return net.JoinHostPort(host, port)
}

// reachable replaces what stands for all addresses of the machine by its name.
func reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || host != "" && (ip == nil || !ip.IsUnspecified()) {
		return address
	}
	if name, err := os.Hostname(); err == nil {
		host = name
	}
	return net.JoinHostPort(host, port)
}

// tokenFileMost bounds what is read of a file that may be the wrong one.
const tokenFileMost = 4096

// token is what a browser must have, and how the printed address carries it: only a new token is printed.
func (o *ServeCmd) token(c *console.Console) (token, printed string, err error) {
	if o.TokenFile == "" {
		if serve.IsLoopback(o.Listen) {
			return "", "", nil
		}
		token = serve.NewToken()
		return token, "?token=" + token, nil
	}
	f, err := os.Open(o.TokenFile)
	if err != nil {
		return "", "", fmt.Errorf("--token-file %s: %w", o.TokenFile, cause.Of(err))
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no plain file")
	}
	if err != nil {
		return "", "", fmt.Errorf("--token-file %s: %w", o.TokenFile, cause.Of(err))
	}
	data, err := io.ReadAll(io.LimitReader(f, tokenFileMost))
	if err != nil {
		return "", "", fmt.Errorf("--token-file %s: %w", o.TokenFile, cause.Of(err))
	}
	token = strings.TrimSpace(string(data))
	if err := serve.CheckToken(token); err != nil {
		return "", "", fmt.Errorf("--token-file %s: %w", o.TokenFile, err)
	}
	if info.Mode().Perm()&0o004 != 0 {
		c.Say("pulley: every user of this machine can read the token in %s; chmod 600 changes that", o.TokenFile)
	}
	return token, "", nil
}
