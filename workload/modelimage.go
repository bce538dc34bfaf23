package workload

import (
	_ "embed"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"strings"

	"ftracelab/machine"
)

// modelImage is not packed, because the operations of templates stay where they are in it
// until their code is made. It begins with the length of a gob (uvarint) and the gob, a
// Model whose templates have no operations. Then come the operations of each template,
// column by column: Kind, Event, Flags and Preempt with a byte for each operation, Arg
// (varints) and Delta (uvarints).
//
//go:embed model.bin
var modelImage string

var errModelShort = errors.New("truncated")

// Encode writes the image, which LoadModel reads.
func (m *Model) Encode(w io.Writer) error {
	head := *m
	head.Templates = make([]Template, len(m.Templates))
	var ops []byte
	for i := range m.Templates {
		t := &m.Templates[i]
		from := len(ops)
		ops = t.Ops.encode(ops)
		head.Templates[i] = Template{Key: t.Key, Weight: t.Weight, Special: t.special(), Count: len(t.Ops.Kind), Bytes: len(ops) - from}
	}
	var b strings.Builder
	if err := gob.NewEncoder(&b).Encode(&head); err != nil {
		return fmt.Errorf("workload model: %w", err)
	}
	image := append(binary.AppendUvarint(nil, uint64(b.Len())), b.String()...)
	_, err := w.Write(append(image, ops...))
	return err
}

// decodeModel reads an image.
func decodeModel(image string) (*Model, error) {
	in := strings.NewReader(image)
	size, err := binary.ReadUvarint(in)
	if err != nil {
		return nil, err
	}
	from := len(image) - in.Len()
	if size > uint64(len(image)-from) {
		return nil, errModelShort
	}
	ops := image[from+int(size):]
	m := new(Model)
	if err := gob.NewDecoder(strings.NewReader(image[from : from+int(size)])).Decode(m); err != nil {
		return nil, err
	}
	m.codes = make([]templateCode, len(m.Templates))
	for i := range m.Templates {
		t := &m.Templates[i]
		if t.Count < 0 || t.Bytes < 6*t.Count || t.Bytes > len(ops) {
			return nil, errModelShort
		}
		m.codes[i].ops, ops = ops[:t.Bytes], ops[t.Bytes:]
	}
	return m, nil
}

// encode appends the columns to b.
func (c *Columns) encode(b []byte) []byte {
	for _, column := range [][]byte{c.Kind, c.Event, c.Flags, c.Preempt} {
		b = append(b, column...)
	}
	for _, v := range c.Arg {
		b = binary.AppendVarint(b, int64(v))
	}
	for _, v := range c.Delta {
		b = binary.AppendUvarint(b, uint64(v))
	}
	return b
}

// decodeOps makes code of n operations from their columns.
func decodeOps(columns string, n int) (machine.Code, error) {
	code := make(machine.Code, n)
	in := strings.NewReader(columns[4*n:])
	for i := range code {
		arg, err := binary.ReadVarint(in)
		if err != nil {
			return nil, err
		}
		code[i] = machine.Op{
			Kind: machine.OpKind(columns[i]), Event: machine.Event(columns[n+i]),
			Flags: columns[2*n+i], Preempt: columns[3*n+i], Arg: int32(arg),
		}
	}
	for i := range code {
		delta, err := binary.ReadUvarint(in)
		if err != nil {
			return nil, err
		}
		code[i].Delta = uint32(delta)
	}
	return code, nil
}
