//go:build !js

package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ftracelab/capture"
	stepping "ftracelab/lab"
)

// pageFlags are the flags of page.
type pageFlags struct {
	memory         *memoryFlag
	cpu, number    int
	kernel, format string
	instance       string
}

func pageCommand(memory *memoryFlag) *cobra.Command {
	f := pageFlags{memory: memory}
	cmd := &cobra.Command{
		Use:   "page DIR|FILE.dat",
		Short: "Draw a page of a raw capture, and say what each of its bytes means",
		Long: `page draws a sub-buffer of a capture folder or of a trace.dat: all of its bytes, then
a line for the header of each event, as 27 bits of time and 5 of type_len. As SVG and
as JSON each byte says what it belongs to. A damaged page is drawn up to the damage.`,
		Example: `  ftracelab page trace.dat
  ftracelab page --cpu 1 --page 3 --format svg capture/ >page.svg`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			defer memory.limit()()
			if err := f.draw(cmd, args[0]); err != nil {
				return fmt.Errorf("page: %w", err)
			}
			return nil
		},
	}
	fl := cmd.Flags()
	fl.IntVar(&f.cpu, "cpu", 0, "the CPU")
	fl.IntVar(&f.number, "page", 0, "number of the page, 0 for the oldest one")
	fl.StringVar(&f.kernel, "kernel", "", "folder of the kernel's formats_all.txt, kallsyms.txt and header_page.txt (default: near the capture)")
	fl.StringVar(&f.instance, "instance", "", "instance of a trace.dat")
	fl.StringVar(&f.format, "format", "text", "text, svg or json")
	return cmd
}

func (f *pageFlags) draw(cmd *cobra.Command, name string) error {
	c, err := capture.Open(name, capture.Options{
		Context: cmd.Context(), Kernel: f.kernel, Instance: f.instance, StackIDs: true, KeepGoing: true, Memory: f.memory.budget(),
	})
	if err != nil {
		return err
	}
	defer c.Close()
	pages := c.Pages(f.cpu)
	if pages == nil {
		return fmt.Errorf("%s: no pages of CPU %d; only a capture folder or a trace.dat has pages", name, f.cpu)
	}
	if f.number < 0 {
		return usageError{fmt.Errorf("--page %d: want 0 or more", f.number)}
	}
	image := make([]byte, c.Info().SubbufSize)
	for n := range f.number + 1 {
		if _, err := io.ReadFull(pages, image); errors.Is(err, io.EOF) {
			return fmt.Errorf("%s: CPU %d has %d pages; there is no page %d", name, f.cpu, n, f.number)
		} else if err != nil {
			return fmt.Errorf("%s: page %d of CPU %d: %w", name, n, f.cpu, err)
		}
	}
	return writePicture(cmd.OutOrStdout(), stepping.PagePicture(fmt.Sprintf("page %d of CPU %d", f.number, f.cpu), image), f.format)
}

// writePicture writes a picture in one of the formats that --format names.
func writePicture(w io.Writer, p stepping.Picture, format string) error {
	switch format {
	case "text":
		return p.Text(w, columns(w))
	case "svg":
		return p.SVG(w)
	case "json":
		return p.JSON(w)
	}
	return usageError{fmt.Errorf("--format %q: want text, svg or json", format)}
}
