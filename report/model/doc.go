// Package model learns a compact model of a trace, and makes traces from it.
//
//	capture → Learn → Model → model.yaml → Parse → Open → record.Source → report.Estimate
//
// A [Model] holds counts only: how often there was each type of event and in which sizes,
// how much time passed between the events of a CPU, which tasks ran there, how many
// addresses each stack had and how often it came, how the number of different stacks
// grew, and how many of its addresses a new stack did not share with those before it. It holds no addresses, no symbols and no content of records.
//
// [Source] draws records from it. Events, sizes, tasks and gaps are drawn independently of
// each other; a task goes on with the probability that was learned. Different stacks
// appear when the learned growth says so, the common ones before the rare ones as chance
// has it; a stack that is not new is one of those that have appeared, as often as it came
// in the capture. Beyond the learned number of stacks, Heaps' law goes on from the end of
// the curve.
//
// A new stack takes its callers, from the root on, from a stack that appeared before it,
// and the frames behind them are its own. So the drawn stacks make a call tree about as
// large as that of the capture. Which stack is the parent is left to chance.
//
// So a model predicts what depends on these counts: bytes of events and stacks, what a map
// of stacks saves, how many stacks there are, and how large their call tree is. It does not
// know which event follows which, how much two stacks in succession share, and what
// belongs to one stay in the kernel: designs that live on these (a stack coded by its
// difference from the last one, deferred user stacks) are not predicted. [Model.HoldOut] measures how far a capture's first half predicts its second.
package model
