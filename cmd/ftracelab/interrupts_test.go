package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// irqRows are the rows of /proc/interrupts: the sum over the CPUs, by name of the row.
func irqRows(t *testing.T, text string) map[string]int {
	t.Helper()
	rows := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^ *(\w+):((?: +\d+)+)  `).FindAllStringSubmatch(text, -1) {
		sum := 0
		for _, n := range strings.Fields(m[2]) {
			count, err := strconv.Atoi(n)
			if err != nil {
				t.Fatal(err)
			}
			sum += count
		}
		rows[m[1]] = sum
	}
	return rows
}

// What /proc/interrupts counts is what the events show: a filter with a number from there
// finds as many interrupts as the row has grown by, and no others.
func TestInterruptsCount(t *testing.T) {
	const script = `
cat /proc/interrupts; echo ====
echo 'irq == %[1]s' > events/irq/irq_handler_entry/filter
echo 1 > events/irq/irq_handler_entry/enable
echo 1 > events/irq_vectors/local_timer_entry/enable
echo 30000 > buffer_size_kb
echo > trace
sleep .5
cat /proc/interrupts; echo ====
grep -c 'irq_handler_entry: irq=%[1]s name=%[2]s$' trace
grep -c irq_handler_entry trace
grep -c local_timer_entry trace
`
	for seed := 1; seed <= 3; seed++ {
		for irq, name := range map[string]string{"4": "ttyS0", "24": "aerdrv", "27": "virtio0-req.1"} {
			status, out, stderr := runLine(t, "shell", "--seed", fmt.Sprint(seed), "--scenario", "disk", "-c", fmt.Sprintf(script, irq, name))
			if status != 0 {
				t.Fatal(stderr)
			}
			part := strings.Split(out, "====\n")
			before, after := irqRows(t, part[0]), irqRows(t, part[1])
			var found, all, timer int
			if _, err := fmt.Sscan(part[2], &found, &all, &timer); err != nil {
				t.Fatalf("%q: %v", part[2], err)
			}
			if grown := after[irq] - before[irq]; grown == 0 || found != grown || all != found {
				t.Errorf("seed %d: row %s has grown by %d, %d events are of %s, of %d", seed, irq, grown, found, name, all)
			}
			if grown := after["LOC"] - before["LOC"]; grown < 100 || timer < grown-4 || timer > grown+4 { // one may be under way on each CPU
				t.Errorf("seed %d: LOC has grown by %d, %d events", seed, grown, timer)
			}
		}
	}
}

// An interrupt with a thread: the handler wakes it, and it runs afterwards.
func TestThreadedInterrupt(t *testing.T) {
	status, out, stderr := runLine(t, "shell", "-c", `
echo aer_irq aer_isr > set_ftrace_filter
echo function > current_tracer
echo 'comm == "irq/24-aerdrv"' > events/sched/sched_wakeup/filter
echo 1 > events/sched/sched_wakeup/enable
echo 'irq == 24' > events/irq/irq_handler_exit/filter
echo 1 > events/irq/irq_handler_exit/enable
sleep 1
grep -v '^#' trace`)
	if status != 0 {
		t.Fatal(stderr)
	}
	want := regexp.MustCompile(`^(.*\[000\] \S+ +[\d.]+: aer_irq <-__handle_irq_event_percpu
.*\[000\] \S+ +[\d.]+: irq_handler_exit: irq=24 ret=handled
.*\[000\] \S+ +[\d.]+: sched_wakeup: comm=irq/24-aerdrv pid=61 prio=49 target_cpu=000
 +irq/24-aerdrv-61 +\[000\] \.{5} +[\d.]+: aer_isr <-irq_thread_fn
){10,}$`)
	if !want.MatchString(out) {
		t.Errorf("trace:\n%s", out)
	}
}
