// Package model learns a compact model of a trace, and makes traces from it.
//
//	capture → Learn → Model → model.yaml → Parse → Open → record.Source → report.Estimate
//
// A [Model] holds counts only: how often there was each type of event and in which sizes,
// how much time passed between the events of a CPU, which tasks ran there, how many
// addresses each stack had and how often it came, and how the number of different stacks
// grew. It holds no addresses, no symbols and no content of records.
//
// [Source] draws records from it. Events, sizes, tasks and gaps are drawn independently of
// each other; a task goes on with the probability that was learned. Different stacks
// appear when the learned growth says so, the common ones before the rare ones as chance
// has it; a stack that is not new is one of those that have appeared, as often as it came
// in the capture. Beyond the learned number of stacks, Heaps' law goes on from the end of
// the curve.
//
// So a model predicts what depends on these counts: bytes of events and stacks, what a map
// of stacks saves, and how many stacks there are. It does not know which frames stacks
// share, which event follows which, and what belongs to one stay in the kernel: designs
// that live on these (stacks coded by their prefixes, deferred user stacks) are not
// predicted. [Model.HoldOut] measures how far a capture's first half predicts its second.
package model
