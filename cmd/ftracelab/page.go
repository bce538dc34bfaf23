//go:build !js

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"ftracelab/capture"
	stepping "ftracelab/lab"
	"ftracelab/ringbuf"
)

// pageFlags are the flags of page.
type pageFlags struct {
	memory         *memoryFlag
	cpu, number    int
	size           int // of a sub-buffer of a bare file
	kernel, format string
	instance       string
}

func pageCommand(memory *memoryFlag) *cobra.Command {
	f := pageFlags{memory: memory}
	cmd := &cobra.Command{
		Use:   "page DIR|FILE",
		Short: "Draw a page of a raw capture, and say what each of its bytes means",
		Long: `page draws a sub-buffer of a capture folder or of a trace.dat: all of its bytes, then
a line for the header of each event, as 27 bits of time and 5 of type_len. As SVG and
as JSON each byte says what it belongs to. A damaged page is drawn up to the damage.

FILE may also be what was read of a trace_pipe_raw alone, without formats beside it. Its
pages have 4096 bytes, unless --subbuf-size says otherwise; the last one may be cut off.`,
		Example: `  ftracelab page trace.dat
  ftracelab page cpu0.raw --page 2
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
	fl.IntVar(&f.size, "subbuf-size", 4096, "bytes of a page of a file that is nothing but pages")
	fl.StringVar(&f.kernel, "kernel", "", "folder of the kernel's formats_all.txt, kallsyms.txt and header_page.txt (default: near the capture)")
	fl.StringVar(&f.instance, "instance", "", "instance of a trace.dat")
	fl.StringVar(&f.format, "format", "text", "text, svg or json")
	return cmd
}

func (f *pageFlags) draw(cmd *cobra.Command, name string) error {
	if f.number < 0 {
		return usageError{fmt.Errorf("--page %d: want 0 or more", f.number)}
	}
	if f.size < ringbuf.PageHeaderSize || f.size > largestBare {
		return usageError{fmt.Errorf("--subbuf-size %d: want %d to %d", f.size, ringbuf.PageHeaderSize, largestBare)}
	}
	if image, count, ok := f.bare(name); ok {
		return f.drawBare(cmd, name, image, count)
	}
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

// largestBare is the largest size of a sub-buffer: that of 128 pages of memory.
const largestBare = 128 * 4096

// bare is the page that is asked for of a file that is nothing but pages, shorter if the
// file ends in it, and how many pages there are. It is ok if the file begins as such a file
// does: with a time and with a commit that a page can have.
func (f *pageFlags) bare(name string) (image []byte, count int64, ok bool) {
	file, err := os.Open(name)
	if err != nil {
		return nil, 0, false
	}
	defer file.Close()
	info, err := file.Stat()
	head := make([]byte, ringbuf.PageHeaderSize)
	if err != nil || !info.Mode().IsRegular() {
		return nil, 0, false
	}
	if _, err := io.ReadFull(file, head); err != nil || !stepping.BeginsPage(head, f.size) {
		return nil, 0, false
	}
	size := int64(f.size)
	count = (info.Size() + size - 1) / size
	image = make([]byte, size)
	n, err := file.ReadAt(image, int64(f.number)*size)
	return image[:n], count, err == nil || errors.Is(err, io.EOF)
}

func (f *pageFlags) drawBare(cmd *cobra.Command, name string, image []byte, count int64) error {
	switch {
	case cmd.Flags().Changed("cpu") || cmd.Flags().Changed("instance"):
		return usageError{fmt.Errorf("%s: holds the pages of one CPU and nothing else", name)}
	case len(image) == 0:
		return fmt.Errorf("%s: the last page is %d; there is no page %d", name, count-1, f.number)
	}
	title := fmt.Sprintf("page %d of %d of %s", f.number, count, filepath.Base(name))
	if len(image) < f.size {
		title += fmt.Sprintf(", cut off after %d of %d bytes", len(image), f.size)
	}
	return writePicture(cmd.OutOrStdout(), stepping.PagePicture(title, image), f.format)
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
