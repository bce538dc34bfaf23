package main

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"ftracelab/machine"
)

// TestBranches: the ways out of code that this test puts in the place of vfs_read.
func TestBranches(t *testing.T) {
	ks, err := machine.LoadKallsyms()
	if err != nil {
		t.Fatal(err)
	}
	addr := addressOf(t, ks)
	fn := addr("vfs_read")
	var code []byte
	to := func(opcode []byte, target uint64) {
		code = append(code, opcode...)
		code = binary.LittleEndian.AppendUint32(code, uint32(target-fn-uint64(len(code))-4))
	}
	const call, jump = 0xe8, 0xe9
	to([]byte{call}, addr("rw_verify_area"))                   // +5
	to([]byte{0x0f, 0x84}, fn+200)                             // a branch inside
	to([]byte{call}, addr("__x86_indirect_thunk_array"))       // +16; the running kernel has call *%rax, nop
	to([]byte{0x2e, call}, addr("__x86_indirect_thunk_array")) // +22
	code = append(code, 0xff, 0x14, 0x25, 0, 0, 0, 0)          // +29, call *0; the running kernel has a call of 5 bytes
	code = append(code, 0x06)                                  // no instruction
	to([]byte{call}, addr("__SCT__cond_resched"))              // +35
	to([]byte{call}, addr("__SCT__tp_func_sched_switch"))      // +40
	to([]byte{call}, addr("vfs_read")+7)                       // inside the function: nothing is called
	to([]byte{0x0f, 0x85}, addr("ksys_read"))                  // a conditional jump
	to([]byte{jump}, addr("__x86_return_thunk"))               // a return
	to([]byte{jump}, addr("ksys_write"))
	x := &text{ks: ks, parts: []textPart{{fn, code}}, known: map[uint64]*branches{}}
	b := x.branchesOf(fn)
	var got []string
	for _, c := range b.calls {
		got = append(got, fmt.Sprintf("%s +%d", x.name(c.to), c.ret-fn))
	}
	for _, j := range b.jumps {
		got = append(got, "jump "+x.name(j))
	}
	for _, p := range b.pointers {
		got = append(got, fmt.Sprintf("pointer +%d static %v", p.ret-fn, p.static))
	}
	const want = "rw_verify_area +5, __cond_resched +35, __traceiter_sched_switch +40, jump ksys_read, jump ksys_write, " +
		"pointer +13 static false, pointer +19 static false, pointer +27 static false"
	if g := strings.Join(got, ", "); g != want || b.leaves {
		t.Errorf("%s, leaves: %v; want %s", g, b.leaves, want)
	}
	if !x.returnsTo(fn, addr("rw_verify_area"), fn+5) || x.returnsTo(fn, addr("rw_verify_area"), fn+16) || x.returnsTo(fn, addr("ksys_read"), 0) {
		t.Error("what returns into the function")
	}
}
