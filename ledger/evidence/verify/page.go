package verify

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/ctxledger/ctxledger/ledger/evidence/document"
	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
)

// checkPage checks that the page for people has nothing that runs or that refers to another place.
// It also compares the figures with those that the records give, unless these are nil: the page has
// each figure and no other one. The page is not drawn again: its sentences are those of the exporter.
func checkPage(v *verifier, figures []document.Figure) error {
	if !v.pack.Has(pack.PageFile) {
		return nil // a pack of an earlier version
	}
	f, err := v.pack.Open(pack.PageFile)
	if err != nil {
		v.unreadable(pack.PageFile, 0, err)
		return nil
	}
	defer f.Close()
	p := pageCheck{v: v, compared: figures != nil, want: make(map[string]string), seen: make(map[string]bool), line: 1}
	for _, figure := range figures {
		p.want[figure.Name] = figure.Value
	}
	if err := p.read(untilDone{v.ctx, f}); err != nil {
		if v.ctx.Err() != nil {
			return v.ctx.Err()
		}
		v.unreadable(pack.PageFile, p.line, err)
		return nil
	}
	for _, figure := range figures {
		if !p.seen[figure.Name] {
			v.found.faultf(Derivation, pack.PageFile, 0, "lacks the figure %s", figure.Name)
		}
	}
	if !p.compared {
		v.found.note(Derivation, "index.html: the figures are the exporter's, because the records do not give them")
		return nil
	}
	v.found.note(Derivation, "index.html: %d figures follow from the records; its sentences are the exporter's", len(p.seen))
	return nil
}

// pageCheck reads a page.
type pageCheck struct {
	v        *verifier
	compared bool // with want
	want     map[string]string
	seen     map[string]bool
	line     int64
	// open is the figure whose text is being read, "" for none.
	open, value string
	at          int64
	text        strings.Builder
}

// mostToken bounds the memory of a page's longest token.
const mostToken = 4 << 20

// read reads the page to its end.
func (p *pageCheck) read(in io.Reader) error {
	z := html.NewTokenizer(in)
	z.SetMaxBuf(mostToken)
	for {
		kind := z.Next()
		raw := z.Raw()
		switch kind {
		case html.ErrorToken:
			if err := z.Err(); !errors.Is(err, io.EOF) {
				return err
			}
			p.closeFigure()
			return nil
		case html.StartTagToken, html.SelfClosingTagToken:
			lines := int64(bytes.Count(raw, []byte("\n")))
			p.tag(z.Token())
			p.line += lines
			continue
		case html.EndTagToken:
			if name, _ := z.TagName(); string(name) == "data" {
				p.closeFigure()
			}
		case html.TextToken:
			lines := int64(bytes.Count(raw, []byte("\n")))
			p.text.Write(z.Text())
			p.line += lines
			continue
		}
		p.line += int64(bytes.Count(raw, []byte("\n")))
	}
}

// pageElements are all elements of a page.
var pageElements = strings.Fields("html head meta title style body header main section footer nav h1 h2 h3 p ul ol li b i small span div a data time table caption thead tbody tr th td " +
	"details summary code pre abbr dl dt dd svg g path rect line text defs pattern br")

// tag checks an element, and begins a figure.
func (p *pageCheck) tag(t html.Token) {
	if !slices.Contains(pageElements, t.Data) {
		p.fault("has an element %.40q, which no exporter writes", t.Data)
	}
	var name, value string
	for _, a := range t.Attr {
		switch key := strings.ToLower(a.Key); {
		case key == "data-figure":
			name = a.Val
		case key == "value":
			value = a.Val
		case strings.HasPrefix(key, "on"), key == "style", key == "src", key == "srcdoc", key == "action", key == "formaction", key == "background", key == "ping":
			p.fault("has an attribute %.40q, which no exporter writes", key)
		case strings.HasSuffix(key, "href") && !strings.HasPrefix(a.Val, "#"):
			p.fault("refers to another place")
		case t.Data == "meta" && key == "http-equiv" && !strings.EqualFold(a.Val, "Content-Security-Policy"):
			p.fault("has a meta element %.40q, which no exporter writes", a.Val)
		}
	}
	if name == "" {
		return
	}
	p.closeFigure()
	if t.Data != "data" {
		p.fault("has the figure %.60q in another element than data", name)
	}
	p.open, p.value, p.at = name, value, p.line
	p.text.Reset()
}

// closeFigure compares the figure that ends with the records.
func (p *pageCheck) closeFigure() {
	if p.open == "" {
		return
	}
	name, at := p.open, p.line
	p.open, p.line = "", p.at
	want, known := p.want[name]
	switch {
	case p.compared && !known:
		p.fault("has the figure %.60q, which does not follow from the records", name)
	case p.compared && p.value != want:
		p.fault("the figure %s is %.80q, but the records give %.80q", name, p.value, want)
	case shownAs(p.text.String()) != shownAs(p.value):
		p.fault("the figure %s is %.80q, but the page shows %.80q", name, p.value, p.text.String())
	}
	p.seen[name] = known || p.seen[name]
	p.line = at
}

// shownAs returns a figure without the spaces between its digits.
func shownAs(text string) string {
	if text == "?" {
		return document.Unknown
	}
	return strings.ReplaceAll(text, "\u202f", "")
}

func (p *pageCheck) fault(format string, args ...any) {
	for i, a := range args {
		if text, ok := a.(string); ok {
			args[i] = strings.ToValidUTF8(text, "\uFFFD")
		}
	}
	p.v.found.faultf(Derivation, pack.PageFile, p.line, format, args...)
}
