package qos_test

import (
	"fmt"
	"strings"
	"testing"

	"ftracelab/machine/qos"
)

// events are those that a kernel makes of a change, as its trace shows them.
func events(c qos.Change) string {
	var b strings.Builder
	if c.Asked {
		fmt.Fprintf(&b, "pm_qos_%s_request: CPU_DMA_LATENCY value=%d\n", [...]string{"add", "update", "remove"}[c.Action], c.Value)
	}
	if c.Applied {
		action := [...]string{"ADD_REQ", "UPDATE_REQ", "REMOVE_REQ"}[c.Action]
		fmt.Fprintf(&b, "pm_qos_update_target: action=%s prev_value=%d curr_value=%d\n", action, c.Prev, c.Curr)
	}
	return b.String()
}

// A real 6.12.117 recorded these events when a program opened and wrote the file of the
// requests in this order.
func TestLikeKernel(t *testing.T) {
	const real = `pm_qos_add_request: CPU_DMA_LATENCY value=-1
pm_qos_update_target: action=ADD_REQ prev_value=2000000000 curr_value=2000000000
pm_qos_update_request: CPU_DMA_LATENCY value=100
pm_qos_update_target: action=UPDATE_REQ prev_value=2000000000 curr_value=100
pm_qos_add_request: CPU_DMA_LATENCY value=-1
pm_qos_update_target: action=ADD_REQ prev_value=100 curr_value=100
pm_qos_update_request: CPU_DMA_LATENCY value=0
pm_qos_update_target: action=UPDATE_REQ prev_value=100 curr_value=0
pm_qos_update_request: CPU_DMA_LATENCY value=808613936
pm_qos_update_target: action=UPDATE_REQ prev_value=0 curr_value=0
pm_qos_update_request: CPU_DMA_LATENCY value=32
pm_qos_update_target: action=UPDATE_REQ prev_value=0 curr_value=0
pm_qos_update_request: CPU_DMA_LATENCY value=175798648
pm_qos_update_target: action=UPDATE_REQ prev_value=0 curr_value=0
pm_qos_remove_request: CPU_DMA_LATENCY value=-1
pm_qos_update_target: action=REMOVE_REQ prev_value=0 curr_value=175798648
pm_qos_add_request: CPU_DMA_LATENCY value=-1
pm_qos_update_target: action=ADD_REQ prev_value=175798648 curr_value=175798648
pm_qos_remove_request: CPU_DMA_LATENCY value=-1
pm_qos_update_target: action=REMOVE_REQ prev_value=175798648 curr_value=175798648
pm_qos_remove_request: CPU_DMA_LATENCY value=-1
pm_qos_update_target: action=REMOVE_REQ prev_value=175798648 curr_value=2000000000
`
	var l qos.Limit
	var b strings.Builder
	add := func() *qos.Request {
		r, c := l.Add()
		b.WriteString(events(c))
		return r
	}
	first := add()
	b.WriteString(events(first.Update(100)))
	second := add()
	b.WriteString(events(second.Update(0)))
	for _, v := range []int32{808613936, 32, 175798648, -5} {
		b.WriteString(events(first.Update(v)))
	}
	b.WriteString(events(second.Remove()))
	b.WriteString(events(add().Remove()))
	b.WriteString(events(first.Remove()))
	if b.String() != real {
		t.Errorf("events\n%s, of a real kernel\n%s", b.String(), real)
	}
}

// A value that a request has already is asked for and not applied, and the default value
// takes a request's value away.
func TestSameAndDefault(t *testing.T) {
	var l qos.Limit
	r, _ := l.Add()
	for _, step := range []struct {
		value  int32
		want   qos.Change
		target int32
	}{
		{7, qos.Change{Action: qos.Update, Asked: true, Value: 7, Applied: true, Prev: qos.NoLimit, Curr: 7}, 7},
		{7, qos.Change{Action: qos.Update, Asked: true, Value: 7}, 7},
		{-5, qos.Change{Action: qos.Update, Value: -5}, 7},
		{qos.Default, qos.Change{Action: qos.Update, Asked: true, Value: -1, Applied: true, Prev: 7, Curr: qos.NoLimit}, qos.NoLimit},
		{2147483647, qos.Change{Action: qos.Update, Asked: true, Value: 2147483647, Applied: true, Prev: qos.NoLimit, Curr: 2147483647}, 2147483647},
	} {
		if got := r.Update(step.value); got != step.want || l.Target() != step.target {
			t.Errorf("%d: %+v, the target is %d; want %+v and %d", step.value, got, l.Target(), step.want, step.target)
		}
	}
}
