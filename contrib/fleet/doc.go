// Command fleet makes one summary of many captures on an engine for data-parallel work:
// Apache Beam's own local one, Flink, Spark or Dataflow.
//
//	patterns ── match ── group by path ── summarize ── one per file ── merge ── write
//	 strings     files     each once        Outcome       Outcome       Sum     OUT.ftls
//
// What a file becomes is what estimate --summary makes of it, and the sum is what merge
// makes of these: the same bytes, whatever the engine does first.
//
// # What is done twice counts once
//
// An engine may do a piece of work again, because a worker died or is slow. Until the
// last step nothing that is done has an effect outside of the pipeline. Each Outcome
// has the path of its file as its key, and of several Outcomes of one file one is kept
// (see keep). So neither a file that two patterns match nor a repeated bundle counts
// twice. The last step writes whole files with the same content each time.
//
// # Memory
//
// A worker holds one capture's estimate for each bundle that it works on, and sums.
// Sums are added pairwise where the data is, so a worker holds few of them. A sum of n
// machines takes about 800·n bytes (see ftracelab/report/summary).
package main
