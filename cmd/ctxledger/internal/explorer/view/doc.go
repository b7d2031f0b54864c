// Package view writes the explorer's pages and the report as HTML, by html/template. A page needs
// no JavaScript; the script lets the arrow keys walk the calls. All text from outside passes
// through the escaping of html/template and, on one line, through [ui.Safe].
//
// A number of a page is a data element: its value attribute has the digits, as `-o json` has them.
// No element has a style attribute, so the Content-Security-Policy needs no unsafe source.
package view
