// Package experiment compares designs over workloads and seeds: a [Spec] names them, Run
// makes an estimate of each combination, and a [Table] holds the means with their
// confidence intervals.
//
//	workloads × seeds × buffer sizes × sub-buffer sizes = trials
//	each trial: one pass over the workload, all designs at once (report.Estimate)
//	over the seeds of a group: mean ± half of the 95 % confidence interval
//
// A trial depends on the spec and its seed alone, so trials run in parallel, their order
// does not matter, and one that was finished before need not run again: a [Store] keeps
// them. Where a workload comes from is not known here; the caller opens it.
package experiment
