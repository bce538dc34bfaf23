//go:build !js

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"ftracelab/lab/web"
)

type serveFlags struct{ listen, export, programs string }

func serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "The lab in a browser: steps, lessons, shell, estimate and time line",
		Long: `serve gives the lab to a browser on this computer, at the address that it prints. The
programs run in the page; this command only hands out files and sees nothing of what
is done there. It answers only at a loopback address, and writes nothing.

With --export the files go into a folder instead, for any web server. They need no
other address, so a page from there works without a network.

The programs of the page are built for js/wasm. An ftracelab that was built after
"go generate ./lab/web" holds them. Any other one builds them now, with the go
command and in ftracelab's source tree, which takes about a minute.`,
		Example: `  ftracelab serve
  ftracelab serve --listen 127.0.0.1:8080
  ftracelab serve --export public/lab`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr()); err != nil {
				return fmt.Errorf("serve: %w", err)
			}
			return nil
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.listen, "listen", "127.0.0.1:0", "loopback address; port 0 takes a free one")
	fl.StringVar(&f.export, "export", "", "write the files into this folder and end")
	fl.StringVar(&f.programs, "programs", "", "folder with the programs of the page, as go generate ./lab/web makes them")
	return cmd
}

func (f *serveFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	var listener net.Listener
	if f.export == "" {
		host, _, err := net.SplitHostPort(f.listen)
		if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
			return usageError{fmt.Errorf("--listen %q: want a loopback address and a port, as 127.0.0.1:8080", f.listen)}
		}
		var lc net.ListenConfig
		if listener, err = lc.Listen(ctx, "tcp", f.listen); err != nil {
			return err
		}
		defer listener.Close()
	}
	site, err := f.site(ctx, stderr)
	if err != nil {
		return err
	}
	if f.export != "" {
		if err := site.Export(f.export); err != nil {
			return err
		}
		_, err := fmt.Fprintf(stdout, "%s: any web server can hand it out\n", f.export)
		return err
	}
	if _, err := fmt.Fprintf(stdout, "http://%s/\n", listener.Addr()); err != nil {
		return err
	}
	server := http.Server{Handler: site, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return ctx.Err()
}

// site is the page with the programs that were asked for, that this program holds, or
// that are built now.
func (f *serveFlags) site(ctx context.Context, stderr io.Writer) (*web.Site, error) {
	if f.programs != "" {
		return web.New(os.DirFS(f.programs))
	}
	site, err := web.New(nil)
	if !errors.Is(err, web.ErrNoPrograms) {
		return site, err
	}
	if exec.CommandContext(ctx, "go", "list", "ftracelab/lab/web").Run() != nil {
		return nil, fmt.Errorf("%w: go generate ./lab/web makes them for the next build, or start serve in the source tree", err)
	}
	fmt.Fprintln(stderr, "ftracelab: building the programs of the page, about a minute …")
	dir, err := os.MkdirTemp("", "ftracelab-serve")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := web.Build(ctx, dir); err != nil {
		return nil, err
	}
	return web.New(os.DirFS(dir))
}
