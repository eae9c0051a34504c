// Package chart draws figures. A [Plot] is data: series of points over two axes, in the units of what was measured. It becomes
//
//   - an SVG or a PNG of its own, for a paper, by [Plot.Write];
//   - an SVG inside a page, by [Plot.Inline], which follows the page's colours, and whose series a script can hide;
//   - the data from which a page's script draws it again, zoomed or on another scale, by [Plot.Data];
//   - a picture of characters for a terminal, by [Plot.WriteText].
//
// All of them accept any input: points that an axis cannot show are omitted, and a plot without points says so. The same plot
// gives the same bytes.
package chart
