package printfmt_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"ftracelab/tracer/event/printfmt"
)

// TestCommands has the bytes of commands and the texts that drivers of a real 6.12 made of
// them, from scsi_debug and an NVMe loop; "by hand" follows their source.
func TestCommands(t *testing.T) {
	fields := map[string]printfmt.Field{
		"op": {Size: 1, Elem: 1}, "id": {Offset: 1, Size: 2, Elem: 2}, "bytes": {Offset: 4, Size: 32, Elem: 1, Kind: printfmt.Array},
	}
	for _, c := range []struct {
		call  string
		op    byte
		bytes string
		want  string
	}{
		{"scsi_trace_parse_cdb(p, (char *)REC->bytes, 12)", 0, "12 01 00 00 24 00", "-"},
		{"scsi_trace_parse_cdb(p, REC->bytes, 12)", 0, "a3 0c 01 8a 00 00 00 00 00 14 00 00", "REPORT_SUPPORTED_OPERATION_CODES alloc_len=20"},
		// by hand
		{"scsi_trace_parse_cdb(p, REC->bytes, 10)", 0, "28 00 00 00 00 08 00 00 f8 00", "lba=8 txlen=248 protect=0"},
		{"scsi_trace_parse_cdb(p, REC->bytes, 10)", 0, "2a 08 00 00 00 00 00 00 20 00", "lba=0 txlen=32 protect=0"},
		{"scsi_trace_parse_cdb(p, REC->bytes, 6)", 0, "08 01 02 03 00", "lba=66051 txlen=256"},
		{"scsi_trace_parse_cdb(p, REC->bytes, 16)", 0, "93 28 00 00 00 01 00 00 00 02 00 00 00 03 00 00", "lba=4294967298 txlen=3 protect=1 unmap=1"},
		{"scsi_trace_parse_cdb(p, REC->bytes, 16)", 0, "9e 10 00 00 00 00 00 00 00 00 00 00 00 20", "READ_CAPACITY_16 lba=0 alloc_len=32"},
		{"scsi_trace_parse_cdb(p, REC->bytes, 16)", 0, "9e 11", "UNKNOWN"},
		{"scsi_trace_parse_cdb(p, REC->bytes, 10)", 0, "42 00 00 00 00 00 00 00 18 00", "regions=1"},

		{"nvme_trace_parse_nvm_cmd(p, REC->op, REC->bytes)", 2, "80 01 00 00 00 00 00 00 ff 00 00 80 07", "slba=384, len=255, ctrl=0x8000, dsmgmt=7, reftag=0"},
		{"nvmet_trace_parse_nvm_cmd(p, REC->op, REC->bytes)", 2, "08 00 00 00 00 00 00 00 07", "slba=8, len=7, ctrl=0x0, dsmgmt=0, reftag=0"},
		{"nvme_trace_parse_admin_cmd(p, REC->op, REC->bytes)", 9, "07 00 00 00 01 00 01", "fid=0x7, sv=0x0, cdw11=0x10001"},
		{"nvme_trace_parse_admin_cmd(p, REC->op, REC->bytes)", 2, "0c 00 03 08", "cdw10=0c 00 03 08" + strings.Repeat(" 00", 20)},
		{"nvmet_trace_parse_admin_cmd(p, REC->op, REC->bytes)", 6, "00", "cns=0, ctrlid=0"},
		{"nvme_trace_parse_fabrics_cmd(p, REC->op, REC->bytes)", 1, "00 00 00 00 1f 00 00 00 88 13", "recfmt=0, qid=0, sqsize=31, cattr=0, kato=5000"},
		{"nvme_trace_parse_fabrics_cmd(p, REC->op, REC->bytes)", 0, "00 00 00 00 14 00 00 00 60 00 46", "attrib=0, ofst=0x14, value=0x460060"},
		{"nvmet_trace_parse_fabrics_cmd(p, REC->op, REC->bytes)", 4, "01", "attrib=1, ofst=0x0"},
		{"nvme_trace_disk_name(p, REC->bytes)", 0, "6e 76 6d 65 30 63 30 6e 31", "disk=nvme0c0n1, "},
		{"nvmet_trace_disk_name(p, REC->bytes)", 0, "", ""},
		{"nvmet_trace_ctrl_id(p, REC->id)", 0, "", "_"},
		// by hand
		{"nvmet_trace_parse_nvm_cmd(p, REC->op, REC->bytes)", 0x0d, "", "cdw10=00" + strings.Repeat(" 00", 23)},
		{"nvme_trace_parse_nvm_cmd(p, REC->op, REC->bytes)", 0x79, "00 00 00 00 00 00 00 00 00 00 00 00 04 01", "slba=0, zsa=4:reset zone, all=1"},
	} {
		record := make([]byte, 36)
		record[0] = c.op
		if _, err := hex.Decode(record[4:], []byte(strings.ReplaceAll(c.bytes, " ", ""))); err != nil {
			t.Fatal(err)
		}
		p, err := printfmt.Compile(`"%s", `+c.call, func(name string) (printfmt.Field, bool) { f, ok := fields[name]; return f, ok })
		if err != nil || len(p.Unknown()) > 0 {
			t.Errorf("%s: %v, unknown %q", c.call, err, p.Unknown())
			continue
		}
		if got := string(p.Append(nil, record, nil)); got != c.want {
			t.Errorf("%s of %d, % s\n got %q\nwant %q", c.call, c.op, c.bytes, got, c.want)
		}
	}
}
