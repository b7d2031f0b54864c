package view

import "testing"

// TestProse: backquotes mark commands, and a text from outside stays a text.
func TestProse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                "",
		"run `ctxledger up` again":        "run <code>ctxledger up</code> again",
		"`a` and `b`":                     "<code>a</code> and <code>b</code>",
		"one ` alone":                     "one ` alone",
		"`<script>x</script>`":            "<code>&lt;script&gt;x&lt;/script&gt;</code>",
		"`a` <img src=x onerror=y> `b":    "<code>a</code> &lt;img src=x onerror=y&gt; `b",
		"\u202e` &amp; ` \"quoted\" it's": "\\u202e<code> &amp;amp; </code> &#34;quoted&#34; it&#39;s",
	} {
		if got := string(prose(text)); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
