package memory

import "ftracelab/machine"

// kind is a kind of objects to which a pointer that a probe reads can point.
type kind uint8

const (
	kindTask kind = iota
	kindMM
	kindCred
	kindFiles
	kindFile
	kindDentry
	kindInode
	kindSuper
	kindFSType
	kindMount
	kindPath
	kindFilename
	kindCache
	kindHow
	kindClone
	kindString
	kindOpaque // a structure about which nothing is known
	numKinds
)

// object is an object that has an address.
type object struct {
	key
	kind  kind
	addr  uint64
	task  *machine.Task // for a task, and for what belongs to it
	flags uint64        // for a file: the flags with which it was opened
}

// key identifies an object of a kind.
type key struct {
	n    uint64
	text string
}

// pool holds the objects of a kind.
type pool struct {
	list  []*object
	byKey map[key]*object
	next  int // the index of the object whose place is taken when there are too many
}

// maxObjects is how many objects of a kind can exist.
const maxObjects = 1024

// object returns the object of a kind that k identifies. It makes the object if there
// is none.
func (mem *Memory) object(kind kind, k key) *object {
	p := &mem.objects[kind]
	if o := p.byKey[k]; o != nil {
		return o
	}
	if p.byKey == nil {
		p.byKey = map[key]*object{}
	}
	o := &object{key: k, kind: kind}
	stride := mem.kinds[kind].stride
	place := len(p.list)
	if limit := min(maxObjects, int(kindSize/stride)); place < limit {
		p.list = append(p.list, o)
	} else {
		place, p.next = p.next, (p.next+1)%limit
		delete(p.byKey, p.list[place].key)
		p.list[place] = o
	}
	o.addr = objectBase + uint64(kind)*kindSize + uint64(place)*stride
	p.byKey[k] = o
	return o
}

// readObject reads from the object at addr, up to its end or to the end of its kind.
func (mem *Memory) readObject(dst []byte, addr uint64) int {
	kind := (addr - objectBase) / kindSize
	at := (addr - objectBase) % kindSize
	stride := mem.kinds[kind].stride
	place, off := at/stride, at%stride
	n := zero(dst, min(stride-off, kindSize-at))
	if list := mem.objects[kind].list; place < uint64(len(list)) {
		mem.readFields(list[place], dst[:n], off)
	}
	return n
}
