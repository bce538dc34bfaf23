package main

import (
	"fmt"
	"strings"
)

// enumerations are those whose constants stand in print fmts of 6.12 by their names,
// because the kernel does not export them with TRACE_DEFINE_ENUM. "" is the kernel itself,
// the others are modules. One without a name is called by its first constant; :PREFIX
// selects the constants that begin so.
var enumerations = []struct{ module, names string }{
	{"", `cache_tag_type cxl_event_log_type cxl_poison_trace_type ec_status ib_wc_opcode ib_wr_opcode IPPROTO_IP netdev_cmd
		nl80211_band vdso_clock_mode writeback_sync_modes xen_lazy_mode xen_mc_extend_args xen_mc_flush_reason xprtsec_policies`},
	{"btrfs", `BTRFS_ORDERED_REGULAR __EXTENT_DIRTY_BIT:EXTENT_ __EXTENT_FLAG_PINNED_BIT:EXTENT_ __QGROUP_RESERVE_BIT:QGROUP_
		btrfs_delayed_ref_action`},
	{"f2fs", "GC_CB:GC_AT LFS:AT_SSR compress_algorithm_type cp_reason_type"},
	{"firewire-core", "fw_iso_context_completions_cause"},
	{"gfs2", "GLF_LOCK"},
	{"hfi1", "IB_OPCODE_WRITE_REQ:IB_OPCODE_TID_"},
	{"i915", "pipe:PIPE_"},
	{"iwlwifi", "CMD_MODE"},
	{"kvm-amd", "kvm_apicv_inhibit"},
	{"kvm-intel", "vm_instruction_error_number"},
	{"libata", `ATA_MAX_DEVICES:ATA_CMD_ LIBATA_MAX_PRD:ATA_DEV_ ata_prot_flags hsm_task_states sam_status scsi_host_status`},
	{"mlx5_core", "MLX5_FLOW_CONTEXT_ACTION_ALLOW MLX5_FLOW_CONTEXT_ACTION_FWD_NEXT_PRIO"},
	{"netfs", "fscache_active_trace netfs_io_source"},
	{"nvme-core", "nvme_admin_opcode nvme_opcode nvmf_capsule_command nvmf_fabrics_opcode"},
	{"nvmet", "NVME_AER_ERROR NVME_AER_NOTICE_NS_CHANGED"},
	{"rdmavt", "IB_OPCODE_RC:IB_OPCODE_"},
	{"rxrpc", "rxrpc_call_completion rxrpc_peer_trace"},
	{"scsi_mod", "scsi_prot_operations"},
	{"sunrpc", "RPC_TASK_RUNNING"},
	{"thunderbolt", "tb_cfg_pkg_type"},
}

const enumsHead = `# Constants of enumerations of Linux 6.12.117 that print fmts use by their names. Made from
# the BTF of Debian's kernel image and modules; see docs/provenance.md.

`

// kernelEnums makes enums.txt from an unpacked kernel package.
func kernelEnums(dir string) (map[string][]byte, error) {
	var modules, names []string
	for _, e := range enumerations {
		if names = append(names, strings.Fields(e.names)...); e.module != "" {
			modules = append(modules, e.module)
		}
	}
	d, err := readBTF(dir, modules)
	if err != nil {
		return nil, err
	}
	values := map[string]int{}
	for _, name := range names {
		if err := d.constants(name, values); err != nil {
			return nil, err
		}
	}
	var text strings.Builder
	text.WriteString(enumsHead)
	for _, name := range sortedKeys(values) {
		fmt.Fprintf(&text, "%s %d\n", name, values[name])
	}
	return map[string][]byte{"enums.txt": []byte(text.String())}, nil
}

// constants adds the constants of an enumeration to values.
func (d *btfData) constants(name string, values map[string]int) error {
	name, prefix, _ := strings.Cut(name, ":")
	found := false
	for _, t := range d.types {
		if t.kind != kindEnum || t.name != name && (t.name != "" || len(t.parts) == 0 || t.parts[0].name != name) {
			continue
		}
		for _, p := range t.parts {
			if !strings.HasPrefix(p.name, prefix) {
				continue
			}
			if have, ok := values[p.name]; ok && have != p.value {
				return fmt.Errorf("btf: %s is %d and %d", p.name, have, p.value)
			}
			values[p.name], found = p.value, true
		}
	}
	if !found {
		return fmt.Errorf("btf: there is no enumeration %s with a constant %s…", name, prefix)
	}
	return nil
}
