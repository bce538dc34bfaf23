// Package html draws reports as one HTML file that needs nothing else. The script of
// the charts is inside, and a content security policy forbids the page to load
// anything. Everything that a chart shows also stands in a table beside it.
//
// The same reports give the same bytes.
package html
