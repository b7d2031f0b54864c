package window

import (
	"strings"

	"github.com/tiktoken-go/tokenizer"
)

// encodings lists the encodings of model families. The longest prefix decides. A prefix
// matches the whole name or up to one of "-", "." and ":". The table is here because the
// library's own table lacks newer families.
//
// Source: openai/tiktoken, model.py.
var encodings = []struct {
	family   string
	encoding tokenizer.Encoding
}{
	{"gpt-5", tokenizer.O200kBase},
	{"gpt-4.5", tokenizer.O200kBase},
	{"gpt-4.1", tokenizer.O200kBase},
	{"gpt-4o", tokenizer.O200kBase},
	{"chatgpt-4o", tokenizer.O200kBase},
	{"o1", tokenizer.O200kBase},
	{"o3", tokenizer.O200kBase},
	{"o4-mini", tokenizer.O200kBase},
	{"gpt-4", tokenizer.Cl100kBase},
	{"gpt-3.5", tokenizer.Cl100kBase},
	{"gpt-35", tokenizer.Cl100kBase},
	{"text-embedding-ada-002", tokenizer.Cl100kBase},
	{"text-embedding-3", tokenizer.Cl100kBase},
	{"davinci-002", tokenizer.Cl100kBase},
	{"babbage-002", tokenizer.Cl100kBase},
}

// encodingOf returns the encoding to count with, and whether it is the model's own
// encoding. A provider's prefix ("openai/gpt-5") and a fine-tune's ("ft:gpt-4o:…") are
// ignored.
func encodingOf(model string) (tokenizer.Encoding, bool) {
	name := strings.ToLower(model)
	name = strings.TrimPrefix(name, "openai/")
	name = strings.TrimPrefix(name, "ft:")
	best, found := tokenizer.O200kBase, ""
	for _, e := range encodings {
		if len(e.family) > len(found) && inFamily(name, e.family) {
			best, found = e.encoding, e.family
		}
	}
	return best, found != ""
}

func inFamily(name, family string) bool {
	rest, ok := strings.CutPrefix(name, family)
	return ok && (rest == "" || strings.ContainsRune("-.:", rune(rest[0])))
}
