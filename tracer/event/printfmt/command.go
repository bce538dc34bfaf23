package printfmt

import (
	"bytes"
	"fmt"
	"slices"
)

// decoder appends the text that a driver's own function makes of a command: its kind, and
// the bytes that belong to it.
type decoder struct {
	args   int // how many arguments there are behind the place for the text
	append func(dst []byte, kind uint64, data []byte) []byte
}

// decoders are the functions of drivers that print fmts call, by name. Their first argument,
// p, is where the kernel puts the text. One of three arguments has the bytes before their
// length, and no kind.
//
// Kernel: drivers/scsi/scsi_trace.c, drivers/nvme/host/trace.c and drivers/nvme/target/trace.c.
var decoders = map[string]decoder{
	"scsi_trace_parse_cdb":         {2, func(dst []byte, _ uint64, cdb []byte) []byte { return appendCDB(dst, cdb) }},
	"nvme_trace_disk_name":         {1, appendDiskName},
	"nvme_trace_parse_admin_cmd":   {2, appendAdmin},
	"nvme_trace_parse_nvm_cmd":     {2, appendNVM},
	"nvme_trace_parse_fabrics_cmd": {2, appendFabrics},
	"nvmet_trace_ctrl_id":          {1, appendControllerID},
	"nvmet_trace_disk_name":        {1, appendDiskName},
	"nvmet_trace_parse_admin_cmd": {2, func(dst []byte, op uint64, dw []byte) []byte {
		return appendKnown(dst, op, dw, []uint64{0x06, 0x09, 0x0a, 0x86}, appendAdmin)
	}},
	"nvmet_trace_parse_nvm_cmd": {2, func(dst []byte, op uint64, dw []byte) []byte {
		return appendKnown(dst, op, dw, []uint64{0x01, 0x02, 0x08, 0x09, 0x79, 0x7a, 0x7d}, appendNVM)
	}},
	"nvmet_trace_parse_fabrics_cmd": {2, appendFabrics},
}

// decoderCall parses (p, arguments).
func (p *parser) decoderCall(name string, d decoder) (*node, error) {
	if p.next().kind != tokIdent {
		return p.skipCall(name)
	}
	if err := p.expect(","); err != nil {
		return nil, err
	}
	args, err := p.args()
	if err != nil {
		return nil, err
	}
	if len(args) != d.args {
		return p.makeUnknown(name)
	}
	n := &node{op: opDecode, name: name, a: args[0]}
	if d.args == 2 {
		n.b = args[1]
	}
	return p.make(n)
}

// appendDecoded appends what the function makes of a record.
func appendDecoded(dst []byte, n *node, data []byte, env *Env) []byte {
	kind := eval(n.a, data, env)
	if n.b == nil || kind.kind == vBytes {
		return decoders[n.name].append(dst, kind.num(), kind.s)
	}
	return decoders[n.name].append(dst, kind.num(), eval(n.b, data, env).s)
}

// big reads a big-endian integer.
func big(b []byte, off, size int) uint64 { return swapped(load(b, off, size), size) }

// appendCDB appends the text of a SCSI command.
func appendCDB(dst, cdb []byte) []byte {
	at := func(off int) uint64 { return load(cdb, off, 1) }
	switch at(0) {
	case 0x08, 0x0a: // READ_6, WRITE_6
		blocks := at(4)
		if blocks == 0 {
			blocks = 256
		}
		return fmt.Appendf(dst, "lba=%d txlen=%d", big(cdb, 0, 4)&0x1fffff, blocks)
	case 0x28, 0x2f, 0x2a, 0x41: // READ_10, VERIFY, WRITE_10, WRITE_SAME
		dst = fmt.Appendf(dst, "lba=%d txlen=%d protect=%d", big(cdb, 2, 4), big(cdb, 7, 2), at(1)>>5)
		return appendUnmap(dst, at(0) == 0x41, at(1))
	case 0xa8, 0xaf, 0xaa: // READ_12, VERIFY_12, WRITE_12
		return fmt.Appendf(dst, "lba=%d txlen=%d protect=%d", big(cdb, 2, 4), big(cdb, 6, 4), at(1)>>5)
	case 0x88, 0x8f, 0x8a, 0x93: // READ_16, VERIFY_16, WRITE_16, WRITE_SAME_16
		dst = fmt.Appendf(dst, "lba=%d txlen=%d protect=%d", big(cdb, 2, 8), big(cdb, 10, 4), at(1)>>5)
		return appendUnmap(dst, at(0) == 0x93, at(1))
	case 0x42: // UNMAP
		return fmt.Appendf(dst, "regions=%d", (uint32(big(cdb, 7, 2))-8)/16)
	case 0x9c: // WRITE_ATOMIC_16
		return fmt.Appendf(dst, "lba=%d txlen=%d boundary_size=%d", big(cdb, 2, 8), big(cdb, 12, 2), big(cdb, 10, 2))
	case 0x7f: // VARIABLE_LENGTH_CMD
		name, ok := variableLength[big(cdb, 8, 2)]
		if !ok {
			return append(dst, '-')
		}
		dst = fmt.Appendf(dst, "%s_32 lba=%d txlen=%d protect=%d ei_lbrt=%d", name, big(cdb, 12, 8), big(cdb, 28, 4), at(10)>>5, big(cdb, 20, 4))
		return appendUnmap(dst, name == "WRITE_SAME", at(10))
	}
	actions, ok := serviceActions[at(0)]
	if !ok {
		return append(dst, '-')
	}
	name, ok := actions[at(1)&0x1f]
	if !ok {
		return append(dst, "UNKNOWN"...)
	}
	dst = append(dst, name...)
	switch at(0) {
	case 0x9e:
		return fmt.Appendf(dst, " lba=%d alloc_len=%d", big(cdb, 2, 8), big(cdb, 10, 4))
	case 0x95:
		return fmt.Appendf(dst, " zone=%d alloc_len=%d options=%d partial=%d", big(cdb, 2, 8), big(cdb, 10, 4), at(14)&0x3f, at(14)>>7)
	case 0x94:
		return fmt.Appendf(dst, " zone=%d all=%d", big(cdb, 2, 8), at(14)&1)
	}
	return fmt.Appendf(dst, " alloc_len=%d", big(cdb, 6, 4))
}

func appendUnmap(dst []byte, same bool, flags uint64) []byte {
	if !same {
		return dst
	}
	return fmt.Appendf(dst, " unmap=%d", flags>>3&1)
}

var variableLength = map[uint64]string{0x09: "READ", 0x0a: "VERIFY", 0x0b: "WRITE", 0x0d: "WRITE_SAME"}

// serviceActions are the names of what one SCSI command of these kinds does.
//
// Kernel: include/scsi/scsi_proto.h.
var serviceActions = map[uint64]map[uint64]string{
	0x9e: {0x10: "READ_CAPACITY_16", 0x12: "GET_LBA_STATUS"}, // SERVICE_ACTION_IN_16
	0xa3: { // MAINTENANCE_IN
		0x05: "REPORT_IDENTIFYING_INFORMATION", 0x0a: "REPORT_TARGET_PORT_GROUPS", 0x0b: "REPORT_ALIASES", 0x0c: "REPORT_SUPPORTED_OPERATION_CODES",
		0x0d: "REPORT_SUPPORTED_TASK_MANAGEMENT_FUNCTIONS", 0x0e: "REPORT_PRIORITY", 0x0f: "REPORT_TIMESTAMP", 0x10: "MANAGEMENT_PROTOCOL_IN",
	},
	0xa4: { // MAINTENANCE_OUT
		0x06: "SET_IDENTIFYING_INFORMATION", 0x0a: "SET_TARGET_PORT_GROUPS", 0x0b: "CHANGE_ALIASES", 0x0e: "SET_PRIORITY",
		0x0f: "SET_TIMESTAMP", 0x10: "MANAGEMENT_PROTOCOL_OUT",
	},
	0x95: {0x00: "REPORT_ZONES"},                                                                    // ZBC_IN
	0x94: {0x01: "CLOSE_ZONE", 0x02: "FINISH_ZONE", 0x03: "OPEN_ZONE", 0x04: "RESET_WRITE_POINTER"}, // ZBC_OUT
}

func appendDiskName(dst []byte, _ uint64, name []byte) []byte {
	name, _, _ = bytes.Cut(name, []byte{0})
	if len(name) == 0 {
		return dst
	}
	return fmt.Appendf(dst, "disk=%s, ", name)
}

func appendControllerID(dst []byte, id uint64, _ []byte) []byte {
	if id == 0 {
		return append(dst, '_')
	}
	return fmt.Appendf(dst, "%d", id)
}

// appendKnown appends the text of a command that a driver knows, or its bytes.
func appendKnown(dst []byte, op uint64, dw []byte, ops []uint64, known func([]byte, uint64, []byte) []byte) []byte {
	if slices.Contains(ops, op) {
		return known(dst, op, dw)
	}
	return appendWords(dst, dw)
}

// appendWords appends the words 10 to 15 of an NVMe command.
func appendWords(dst, dw []byte) []byte {
	return appendHex(append(dst, "cdw10="...), slice(dw, 0, 24), ' ')
}

// appendAdmin appends the text of an NVMe command for the controller.
func appendAdmin(dst []byte, op uint64, dw []byte) []byte {
	at := func(off, size int) uint64 { return load(dw, off, size) }
	switch op {
	case 0x00: // nvme_admin_delete_sq
		return fmt.Appendf(dst, "sqid=%d", at(0, 2))
	case 0x01: // nvme_admin_create_sq
		return fmt.Appendf(dst, "sqid=%d, qsize=%d, sq_flags=0x%x, cqid=%d", at(0, 2), at(2, 2), at(4, 2), at(6, 2))
	case 0x04: // nvme_admin_delete_cq
		return fmt.Appendf(dst, "cqid=%d", at(0, 2))
	case 0x05: // nvme_admin_create_cq
		return fmt.Appendf(dst, "cqid=%d, qsize=%d, cq_flags=0x%x, irq_vector=%d", at(0, 2), at(2, 2), at(4, 2), at(6, 2))
	case 0x06: // nvme_admin_identify
		return fmt.Appendf(dst, "cns=%d, ctrlid=%d", at(0, 1), at(2, 2))
	case 0x09: // nvme_admin_set_features
		return fmt.Appendf(dst, "fid=0x%x, sv=0x%x, cdw11=0x%x", at(0, 1), at(3, 1)&8, at(4, 4))
	case 0x0a: // nvme_admin_get_features
		return fmt.Appendf(dst, "fid=0x%x, sel=0x%x, cdw11=0x%x", at(0, 1), at(1, 1)&7, at(4, 4))
	case 0x80: // nvme_admin_format_nvm
		low, high := at(0, 1), at(1, 1)
		return fmt.Appendf(dst, "lbaf=%d, mset=%d, pi=%d, pil=%d, ses=%d", high&0x30|low&0xf, low>>4&1, low>>5&7, high&1, high>>1&7)
	case 0x86: // nvme_admin_get_lba_status
		return fmt.Appendf(dst, "slba=0x%x, mndw=0x%x, rl=0x%x, atype=%d", at(0, 8), at(8, 4), at(12, 2), at(15, 1))
	}
	return appendWords(dst, dw)
}

// appendNVM appends the text of an NVMe command for a namespace.
func appendNVM(dst []byte, op uint64, dw []byte) []byte {
	at := func(off, size int) uint64 { return load(dw, off, size) }
	switch op {
	case 0x01, 0x02, 0x08, 0x7d: // nvme_cmd_write, nvme_cmd_read, nvme_cmd_write_zeroes, nvme_cmd_zone_append
		return fmt.Appendf(dst, "slba=%d, len=%d, ctrl=0x%x, dsmgmt=%d, reftag=%d", at(0, 8), at(8, 2), at(10, 2), at(12, 4), at(16, 4))
	case 0x09: // nvme_cmd_dsm
		return fmt.Appendf(dst, "nr=%d, attributes=%d", at(0, 4), at(4, 4))
	case 0x79: // nvme_cmd_zone_mgmt_send
		return fmt.Appendf(dst, "slba=%d, zsa=%d:%s, all=%d", at(0, 8), at(12, 1), zoneText(zoneActions, at(12, 1)), at(13, 1))
	case 0x7a: // nvme_cmd_zone_mgmt_recv
		return fmt.Appendf(dst, "slba=%d, numd=%d, zra=%d, zrasf=%d:%s, pr=%d",
			at(0, 8), at(8, 4), at(12, 1), at(13, 1), zoneText(zoneReports, at(13, 1)), at(14, 1))
	case 0x0d: // nvme_cmd_resv_register
		return fmt.Appendf(dst, "rrega=%d, iekey=%d, ptpl=%d", at(0, 1)&7, at(0, 1)>>3&1, at(3, 1)>>6)
	case 0x0e: // nvme_cmd_resv_report
		return fmt.Appendf(dst, "numd=%d, eds=%d", at(0, 4), at(4, 1)&1)
	case 0x11: // nvme_cmd_resv_acquire
		return fmt.Appendf(dst, "racqa=%d, iekey=%d, rtype=%d", at(0, 1)&7, at(0, 1)>>3&1, at(1, 1))
	case 0x15: // nvme_cmd_resv_release
		return fmt.Appendf(dst, "rrela=%d, iekey=%d, rtype=%d", at(0, 1)&7, at(0, 1)>>3&1, at(1, 1))
	}
	return appendWords(dst, dw)
}

func zoneText(texts map[uint64]string, n uint64) string {
	if s, ok := texts[n]; ok {
		return s
	}
	return "reserved"
}

var zoneActions = map[uint64]string{
	1: "close zone", 2: "finish zone", 3: "open zone", 4: "reset zone", 5: "offline zone", 0x10: "set zone descriptor extension",
}

var zoneReports = map[uint64]string{
	0: "list all zones", 1: "list the zones in the ZSE: Empty state", 2: "list the zones in the ZSIO: Implicitly Opened state",
	3: "list the zones in the ZSEO: Explicitly Opened state", 4: "list the zones in the ZSC: Closed state", 5: "list the zones in the ZSF: Full state",
	6: "list the zones in the ZSRO: Read Only state", 7: "list the zones in the ZSO: Offline state", 9: "list the zones that have the zone attribute",
}

// appendFabrics appends the text of an NVMe command that goes over a network.
func appendFabrics(dst []byte, kind uint64, spc []byte) []byte {
	at := func(off, size int) uint64 { return load(spc, off, size) }
	switch kind {
	case 0x00: // nvme_fabrics_type_property_set
		return fmt.Appendf(dst, "attrib=%d, ofst=0x%x, value=0x%x", at(0, 1), at(4, 4), at(8, 8))
	case 0x01: // nvme_fabrics_type_connect
		return fmt.Appendf(dst, "recfmt=%d, qid=%d, sqsize=%d, cattr=%d, kato=%d", at(0, 2), at(2, 2), at(4, 2), at(6, 1), at(8, 4))
	case 0x04: // nvme_fabrics_type_property_get
		return fmt.Appendf(dst, "attrib=%d, ofst=0x%x", at(0, 1), at(4, 4))
	case 0x05, 0x06: // nvme_fabrics_type_auth_send, nvme_fabrics_type_auth_receive
		length := "tl"
		if kind == 0x06 {
			length = "al"
		}
		return fmt.Appendf(dst, "spsp0=%02x, spsp1=%02x, secp=%02x, %s=%d", at(1, 1), at(2, 1), at(3, 1), length, at(4, 4))
	}
	return appendHex(append(dst, "specific="...), slice(spc, 0, 24), ' ')
}
