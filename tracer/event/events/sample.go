package events

import "ftracelab/tracer/event"

// This file has the events of the module trace_events_sample. They belong to a kernel only
// while the module is loaded, and get their ids then.
//
// Kernel: samples/trace_events/trace-events-sample.h.

// SampleFooBarRecord is the record of sample-trace:foo_bar. The last six fields have data
// of any length.
type SampleFooBarRecord struct {
	Foo  [10]uint8 `c:"char foo[10]"`
	Bar  int32     `c:"int bar"`
	List []int32   `c:"__data_loc int[] list"`
	Str  string    `c:"__data_loc char[] str"`
	CPUs []uint64  `c:"__data_loc unsigned long[] cpus"`
	CPUM []uint64  `c:"__data_loc cpumask_t cpum"`
	Vstr string    `c:"__data_loc char[] vstr"`
	Lstr string    `c:"__data_loc char[] lstr"`
}

// SampleFooRecord is the record of the events with a text and a number.
type SampleFooRecord struct {
	Foo string `c:"__data_loc char[] foo"`
	Bar int32  `c:"int bar"`
}

// SampleFooRelLocRecord is the record of sample-trace:foo_rel_loc.
type SampleFooRelLocRecord struct {
	Foo     string   `c:"__rel_loc char foo[]"`
	Bar     int32    `c:"int bar"`
	Bitmask []uint64 `c:"__rel_loc unsigned long bitmask[]"`
	Cpumask []uint64 `c:"__rel_loc cpumask_t cpumask"`
}

const sampleFoo = `"foo %s %d", __get_str(foo), REC->bar`

// The events of the module, as declared. Their types have no id.
var (
	SampleFooBar = event.Define[SampleFooBarRecord](0, "sample-trace", "foo_bar",
		`"foo %s %d %s %s %s %s %s %s (%s) (%s) %s [%d] %*pbl", REC->foo, REC->bar, `+
			`__print_symbolic(REC->bar, { 0, "zero" }, { 2, "TWO" }, { 4, "FOUR" }, { 8, "EIGHT" }, { 10, "TEN" } ), `+
			`__print_flags(REC->bar, "|", { 1, "BIT1" }, { 2, "BIT2" }, { 4, "BIT3" }, { 8, "BIT4" } ), `+
			`__print_array(__get_dynamic_array(list), __get_dynamic_array_len(list) / sizeof(int), sizeof(int)), `+
			`__print_dynamic_array(list, sizeof(int)), __get_str(str), __get_str(lstr), __get_bitmask(cpus), __get_cpumask(cpum), `+
			`__get_str(vstr), __get_dynamic_array_len(cpus), __get_dynamic_array_len(cpus), __get_dynamic_array(cpus)`)
	SampleFooBarWithCond        = event.Define[SampleFooRecord](0, "sample-trace", "foo_bar_with_cond", sampleFoo)
	SampleFooBarWithFn          = event.Define[SampleFooRecord](0, "sample-trace", "foo_bar_with_fn", sampleFoo)
	SampleFooWithTemplateSimple = event.Define[SampleFooRecord](0, "sample-trace", "foo_with_template_simple", sampleFoo)
	SampleFooWithTemplateCond   = event.Define[SampleFooRecord](0, "sample-trace", "foo_with_template_cond", sampleFoo)
	SampleFooWithTemplateFn     = event.Define[SampleFooRecord](0, "sample-trace", "foo_with_template_fn", sampleFoo)
	SampleFooWithTemplatePrint  = event.Define[SampleFooRecord](0, "sample-trace", "foo_with_template_print",
		`"bar %s %d", __get_str(foo), REC->bar`)
	SampleFooRelLoc = event.Define[SampleFooRelLocRecord](0, "sample-trace", "foo_rel_loc",
		`"foo_rel_loc %s, %d, %s, %s", __get_rel_str(foo), REC->bar, __get_rel_bitmask(bitmask), __get_rel_cpumask(cpumask)`)
)
