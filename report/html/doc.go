// Package html draws reports, fleets and experiments as one HTML file that needs nothing
// else. The scripts are inside, that of the charts packed, and a content security policy
// forbids the page to load anything.
//
// The answer stands at the top, with what was assumed and lost where that changes it.
// Everything that a chart or the flame graph shows also stands in a table or a list beside
// it. Without scripts, and in browsers from before 2023 that cannot unpack the charts,
// these remain. The sliders compute what [report.Report.At] does, or what
// [report.EstimateFleet] says for another buffer and map, from numbers that the page
// carries.
//
// The same reports give the same bytes.
package html
