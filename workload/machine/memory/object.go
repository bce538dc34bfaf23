package memory

import "ftracelab/workload/machine"

// kind is a kind of objects that a probe can find behind a pointer.
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
	kindOpaque // a structure that nothing is known of, kind 0 of all others
	numKinds
)

// object is one that has an address.
type object struct {
	key
	kind  kind
	addr  uint64
	task  *machine.Task // of a task and of what belongs to it
	flags uint64        // of a file: the flags it was opened with
}

// key is what makes two objects of a kind the same.
type key struct {
	n    uint64
	text string
}

// pool is the objects of a kind by their place.
type pool struct {
	list  []*object
	byKey map[key]*object
	next  int // whose place is taken when there are too many
}

// maxObjects bounds the objects of a kind.
const maxObjects = 1024

// object returns the object of kind that k names, which is made when there is none.
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

// readObject reads of the object at addr up to its end, or to that of its kind.
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
