// Package pagetest reads the pages of the explorer in tests, and compares them with the commands.
package pagetest

import (
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
)

// Parse returns the elements of a page.
func Parse(t *testing.T, address string) *html.Node {
	t.Helper()
	_, text := clitest.Get(t, address)
	page, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// Digits writes a number of JSON as a data element has it, and an unknown one as the page shows it.
func Digits(n any) string {
	if f, ok := n.(float64); ok {
		return strconv.FormatInt(int64(f), 10)
	}
	return "?"
}

// Rows returns the cells of a table's rows, by turn and call.
func Rows(page *html.Node, table string) map[string][]string {
	rows := make(map[string][]string)
	for _, tr := range All(Find(page, func(n *html.Node) bool { return Attribute(n, "id") == table }), "tr") {
		if call := Attribute(tr, "data-call"); call != "" {
			rows[Attribute(tr, "data-turn")+" "+call] = Cells(tr)
		}
	}
	return rows
}

// Cells returns the cells of a row. A number is the value of its data element.
func Cells(tr *html.Node) (cells []string) {
	for _, td := range All(tr, "td") {
		if number := Find(td, func(n *html.Node) bool { return n.Data == "data" }); number != nil {
			cells = append(cells, Attribute(number, "value"))
			continue
		}
		cells = append(cells, strings.TrimSpace(Text(td)))
	}
	return cells
}

// Find returns the first element below n that fits, or nil.
func Find(n *html.Node, fits func(*html.Node) bool) *html.Node {
	if n == nil {
		return nil
	}
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && fits(d) {
			return d
		}
	}
	return nil
}

// All returns the elements of a name below n.
func All(n *html.Node, name string) (list []*html.Node) {
	if n == nil {
		return nil
	}
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && d.Data == name {
			list = append(list, d)
		}
	}
	return list
}

// Attribute returns an attribute of n, or nothing.
func Attribute(n *html.Node, name string) string {
	if n == nil {
		return ""
	}
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// Text returns the text below n.
func Text(n *html.Node) string {
	if n == nil {
		return ""
	}
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}
