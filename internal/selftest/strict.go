//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

// negation is a line that means "this must fail", but has no effect under "set -e".
var negation = regexp.MustCompile(`^([ \t]*)! (.*)$`)

// makeStrict turns each such line into an assertion, which notes in the file held that
// it was true. It returns the assertions by name, "test:line". A line that ends with an
// "or" or an "and" uses its result already and stays as it is. So do lines in exempt.
func makeStrict(test string, text []byte, held string) (strict []byte, assertions []string) {
	var out bytes.Buffer
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		name := fmt.Sprintf("%s:%d", test, n)
		m := negation.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil || strings.Contains(m[2], "||") || strings.Contains(m[2], "&&") || exempt[name] != "" {
			out.WriteString(line)
			continue
		}
		assertions = append(assertions, name)
		fmt.Fprintf(&out, "%sif %s; then echo 'STRICT: line %d succeeded'; exit 1; else echo %s >> '%s'; fi\n", m[1], m[2], n, name, held)
	}
	return out.Bytes(), assertions
}

// exempt are lines that are not true on a real kernel, with the reason. Upstream has
// never noticed, because the lines were never enforced.
var exempt = map[string]string{
	"kprobe/kprobe_args_syntax:67": "parse_probe_arg (trace_probe.c) does not look behind the last bracket: it takes +0(%ax)+10",
}

// checked are the assertions that were compared with Linux 6.12, with the code that
// makes each of them true there. None of them belongs to a test that cannot run here.
var checked = map[string]string{
	"dynevent/add_remove_btfarg:51":                         "query_btf_context (trace_probe.c): a tracepoint stub's first parameter, the data pointer, is hidden",
	"dynevent/add_remove_eprobe:31":                         "unregister_trace_eprobe (trace_eprobe.c): dyn_event_remove takes it off the list",
	"dynevent/add_remove_eprobe:32":                         "remove_event_file_dir (trace_events.c) with the event",
	"dynevent/add_remove_eprobe:41":                         "eprobe_dyn_event_match (trace_eprobe.c): the group as well",
	"dynevent/add_remove_eprobe:42":                         "remove_event_file_dir with the event",
	"dynevent/add_remove_eprobe:49":                         "eprobe_dyn_event_match (trace_eprobe.c): the group and the attached event as well",
	"dynevent/add_remove_eprobe:50":                         "remove_event_file_dir with the event",
	"dynevent/add_remove_eprobe:57":                         "eprobe_dyn_event_match (trace_eprobe.c): the attached event as well",
	"dynevent/add_remove_eprobe:58":                         "remove_event_file_dir with the event",
	"dynevent/add_remove_eprobe:65":                         "eprobe_dyn_event_match (trace_eprobe.c): the attached event and the argument as well",
	"dynevent/add_remove_eprobe:66":                         "remove_event_file_dir with the event",
	"dynevent/add_remove_eprobe:73":                         "eprobe_dyn_event_match (trace_eprobe.c): the group, the attached event and the argument as well",
	"dynevent/add_remove_eprobe:74":                         "remove_event_file_dir with the event",
	"dynevent/add_remove_eprobe:81":                         "eprobe_dyn_event_match (trace_eprobe.c): the group, the attached event and the argument as well",
	"dynevent/add_remove_eprobe:82":                         "remove_event_file_dir with the event",
	"dynevent/add_remove_eprobe:88":                         "remove_event_file_dir: remove_subsystem with the group's last event; the match needs no event's name",
	"dynevent/add_remove_fprobe:22":                         "trace_fprobe_release (trace_fprobe.c): dyn_event_remove takes it off the list",
	"dynevent/add_remove_tprobe:23":                         "trace_fprobe_release: dyn_event_remove takes it off the list",
	"dynevent/add_remove_tprobe_module:30":                  "trace_fprobe_release (trace_fprobe.c): dyn_event_remove takes it off the list",
	"dynevent/add_remove_uprobe:22":                         "unregister_trace_uprobe (trace_uprobe.c): dyn_event_remove takes it off the list",
	"dynevent/test_duplicates:21":                           "trace_probe_register_event_call (trace_probe.c): EEXIST; eprobes do not append",
	"dynevent/test_duplicates:22":                           "trace_probe_register_event_call: EEXIST, any event has the name",
	"dynevent/test_duplicates:26":                           "trace_probe_register_event_call: EEXIST, a kprobe has the name",
	"dynevent/test_duplicates:29":                           "append_trace_kprobe (trace_kprobe.c): SAME_PROBE, EEXIST",
	"dynevent/test_duplicates:30":                           "register_trace_kprobe (trace_kprobe.c): EVENT_EXIST, EEXIST",
	"dynevent/test_duplicates:31":                           "register_trace_kprobe: EVENT_EXIST, EEXIST",
	"dynevent/add_remove_kprobe:22":                         "trace_kprobe_release (trace_kprobe.c): dyn_event_remove takes it out of the list",
	"dynevent/add_remove_kprobe:30":                         "remove_event_file_dir (trace_events.c): remove_subsystem with the group's last event",
	"dynevent/clear_select_events:28":                       "synth_events_open (trace_events_synth.c): dyn_events_release_all of its own kind",
	"dynevent/clear_select_events:29":                       "synth_events_open: dyn_events_release_all of its own kind",
	"dynevent/clear_select_events:36":                       "probes_open (trace_kprobe.c): dyn_events_release_all of its own kind",
	"dynevent/clear_select_events:37":                       "probes_open: dyn_events_release_all of its own kind",
	"dynevent/generic_clear_event:26":                       "create_dyn_event (trace_dynevent.c): ! is dyn_event_release, the words behind are the probe's",
	"dynevent/generic_clear_event:33":                       "create_dyn_event: ! is dyn_event_release; synth_event_match (trace_events_synth.c)",
	"dynevent/generic_clear_event:37":                       "create_dyn_event: ! is dyn_event_release, the words behind are the probe's",
	"dynevent/generic_clear_event:41":                       "create_dyn_event: ! is dyn_event_release; synth_event_match",
	"kprobe/kprobe_args_syntax:89":                          "parse_probe_vars (trace_probe.c): $retval without a return, RETVAL_ON_PROBE, EINVAL",
	"kprobe/kprobe_ftrace:16":                               "no function tracer runs: a kprobe's ftrace_ops (kprobes.c) records no function",
	"kprobe/kprobe_ftrace:29":                               "disable_trace_kprobe (trace_kprobe.c): disable_kprobe disarms it",
	"kprobe/kprobe_ftrace:45":                               "nop is no function tracer, as in line 16",
	"kprobe/kprobe_multiprobe:28":                           "trace_kprobe_match_command_head (trace_kprobe.c): only the probe whose place is named",
	"kprobe/kprobe_multiprobe:32":                           "append_trace_kprobe (trace_kprobe.c): another number of arguments, DIFF_ARG_TYPE, EEXIST",
	"kprobe/kprobe_non_uniq_symbol:13":                      "validate_probe_symbol (trace_kprobe.c): EADDRNOTAVAIL, NON_UNIQ_SYMBOL, EINVAL",
	"kprobe/probepoint:35":                                  "__trace_kprobe_create (trace_kprobe.c): an offset below 0, BAD_PROBE_ADDR, EINVAL",
	"kprobe/probepoint:37":                                  "__trace_kprobe_create: an offset above UINT_MAX, BAD_PROBE_ADDR, EINVAL",
	"kprobe/profile:6":                                      "probes_profile_seq_show (trace_kprobe.c) lists what dynamic_events does; it is empty",
	"kprobe/profile:14":                                     "probes_open: dyn_events_release_all; nothing is left to list",
	"00basic/trace_pipe:15":                                 "tracing_read_pipe (trace.c) consumes what it gives (trace_consume)",
	"dynevent/add_remove_synth:20":                          "synth_event_release (trace_events_synth.c): dyn_event_remove takes it off the list",
	"ftrace/func_profile_stat:13":                           "function_profile_call (ftrace.c) counts each call of a profiled function",
	"trigger/inter-event/trigger-synthetic-eprobe:48":       "synth_event_delete (trace_events_synth.c): dyn_event_remove, the hist that generated it is gone",
	"trigger/inter-event/trigger-synthetic-eprobe:49":       "dyn_event_release (trace_dynevent.c): eprobe_dyn_event_release takes it off the list",
	"trigger/inter-event/trigger-synthetic-eprobe:50":       "trace_remove_event_call (trace_events.c): remove_event_file_dir",
	"trigger/inter-event/trigger-synthetic-eprobe:51":       "trace_remove_event_call: remove_event_file_dir",
	"trigger/inter-event/trigger-synthetic-event-syntax:26": "check_command (trace_events_synth.c): not three words, EINVAL",
	"trigger/inter-event/trigger-synthetic-event-syntax:33": "__create_synth_event (trace_events_synth.c): SYNTH_ERR_EVENT_EXISTS, EEXIST",
	"trigger/trigger-eventonoff:39":                         "event_enable_trigger_parse (trace_events_trigger.c): find_event_file finds none, EINVAL",
	"trigger/trigger-eventonoff:40":                         "trigger_process_regex (trace_events_trigger.c): no command disable_event+1, EINVAL",
	"trigger/trigger-eventonoff:42":                         "event_enable_register_trigger (trace_events_trigger.c): same type and event, EEXIST",
	"trigger/trigger-eventonoff:43":                         "event_enable_register_trigger: disable_event has enable_event's type, ETT_EVENT_ENABLE, EEXIST",
	"trigger/trigger-filter:23":                             "parse_pred (trace_events_filter.c): FILT_ERR_FIELD_NOT_FOUND, EINVAL",
	"trigger/trigger-filter:24":                             "parse_pred: = is no operator, FILT_ERR_INVALID_OP, EINVAL",
	"trigger/trigger-filter:25":                             "parse_pred: b is no number, FILT_ERR_INVALID_VALUE, EINVAL",
	"trigger/trigger-filter:28":                             "parse_pred: a field is no number, FILT_ERR_INVALID_VALUE, EINVAL",
	"trigger/trigger-snapshot:32":                           "trigger_process_regex: no command snapshot+1, EINVAL",
	"trigger/trigger-snapshot:34":                           "register_trigger (trace_events_trigger.c): one of this type is there, EEXIST",
	"trigger/trigger-stacktrace:29":                         "event_trigger_parse_num (trace_events_trigger.c): kstrtoul of foo, EINVAL",
	"trigger/trigger-stacktrace:31":                         "register_trigger: one of this type is there, EEXIST",
	"trigger/trigger-traceonoff:32":                         "event_trigger_parse_num: kstrtoul of badparam, EINVAL",
	"trigger/trigger-traceonoff:33":                         "trigger_process_regex: no command traceoff+0, EINVAL",
	"trigger/trigger-traceonoff:35":                         "register_trigger: one of this type is there, EEXIST",
	"trigger/trigger-traceonoff:36":                         "register_trigger: traceoff has traceon's type, ETT_TRACE_ONOFF, EEXIST",
}

// printStrict prints how many assertions the chosen tests have, how many of them were
// true, which were never reached by a test that passed, and which nobody has checked.
// The last two kinds are bad, and are also returned.
func (s *suite) printStrict(w io.Writer, cases []*testCase) (bad []string, err error) {
	text, err := os.ReadFile(s.held)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	held := map[string]bool{}
	for _, name := range strings.Fields(string(text)) {
		held[name] = true
	}
	total, unsupported := 0, 0
	var missed, unchecked, left []string
	for _, c := range cases {
		if c.Instance {
			continue // it has the same lines as the first run
		}
		total += len(c.assertions)
		for name := range exempt {
			if strings.HasPrefix(name, c.Test+":") {
				left = append(left, name)
			}
		}
		for _, name := range c.assertions {
			switch {
			case held[name] && checked[name] == "":
				unchecked = append(unchecked, name)
			case held[name]:
			case c.Result == "PASS":
				missed = append(missed, name)
			case c.Result == "UNSUPPORTED":
				unsupported++
			}
		}
	}
	fmt.Fprintf(w, "strict: %d assertions: %d held, %d in tests that are not supported\n", total, len(held), unsupported)
	for _, list := range []struct {
		what  string
		bad   bool
		names []string
	}{
		{"not come to, in a test that passed", true, missed},
		{"not checked against the kernel", true, unchecked},
		{"not true of a kernel, so left as they are", false, slices.Sorted(slices.Values(left))},
	} {
		if len(list.names) == 0 {
			continue
		}
		line := list.what + ": " + strings.Join(list.names, " ")
		fmt.Fprintf(w, "  %s\n", line)
		if list.bad {
			bad = append(bad, line)
		}
	}
	return bad, nil
}
