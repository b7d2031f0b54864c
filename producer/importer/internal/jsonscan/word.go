package jsonscan

// words are short texts, of which a log has the same in every line: its session, its
// folder, the types of its records. Each is where its bytes tell, until another one
// takes its place. The zero value has none.
type words [64]string

// maxWord is the longest value that may be a word, in bytes.
const maxWord = 64

// Text is what [TextOf] returns of a string or null.
func (w *words) Text(value Span) string {
	if len(value) < 3 || value[0] != '"' {
		return TextOf(value)
	}
	word := value[1 : len(value)-1]
	at := &w[(uint(len(word))+5*uint(word[0])+3*uint(word[len(word)/2])+uint(word[len(word)-1]))%64]
	if *at == string(word) {
		return *at
	}
	text := TextOf(value)
	if text == string(word) { // it has no escapes
		*at = text
	}
	return text
}
