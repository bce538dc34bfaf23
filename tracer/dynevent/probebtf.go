package dynevent

import (
	"ftracelab/machine/btf"
	"ftracelab/tracer/event/probe"
)

// probeBTF gives the types of the kernel to the definition of a probe.
type probeBTF struct{ model *btf.Model }

// BTF returns the types of the kernel; nil if they cannot be loaded.
func (e probeEnv) BTF() probe.BTF {
	model, err := btf.Load()
	if err != nil {
		return nil
	}
	return probeBTF{model}
}

func (b probeBTF) Proto(function string) (probe.Proto, bool) {
	f, ok := b.model.Func(function)
	proto := probe.Proto{Result: probe.TypeID(f.Result)}
	for _, param := range f.Params {
		proto.Params = append(proto.Params, probe.Param{Name: param.Name, Type: probe.TypeID(param.Type)})
	}
	return proto, ok
}

func (b probeBTF) Type(id probe.TypeID) probe.CType {
	t := b.model.Type(btf.ID(id))
	return probe.CType{Kind: probeKinds[t.Kind], Bits: 8 * t.Size, Signed: t.Signed, Elem: probe.TypeID(t.Elem)}
}

func (b probeBTF) Member(id probe.TypeID, name string) (probe.Member, bool) {
	m, ok := b.model.Member(btf.ID(id), name)
	return probe.Member{Type: probe.TypeID(m.Type), BitOff: m.Bit, BitSize: m.Bits}, ok
}

// probeKinds maps the kinds of types. No probe fetches a type of any other kind.
var probeKinds = map[btf.Kind]probe.CKind{
	btf.Int: probe.CInt, btf.Enum: probe.CEnum, btf.Ptr: probe.CPtr, btf.Array: probe.CArray, btf.Struct: probe.CStruct,
}
