// Package html draws reports as one HTML file that needs nothing else: the charts'
// script is inside, and a content security policy forbids the page to load
// anything. What a chart shows stands in a table beside it.
//
// The same reports give the same bytes.
package html
