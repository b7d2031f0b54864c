package chsql

import (
	"strconv"
	"strings"
	"time"
)

// MostValues is how many values one statement names. Longer lists are divided.
const MostValues = 20_000

// The server reads parameters as fields of tab-separated text.
var escapes = strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`, "\x00", `\0`)

// literalEscapes are the escapes of a text in a list parameter.
var literalEscapes = strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\t", `\t`, "\n", `\n`, "\r", `\r`, "\x00", `\0`)

// Text is a text as a parameter.
func Text(text string) string { return escapes.Replace(text) }

// Texts is a list of texts as a parameter.
func Texts(list []string) string {
	quoted := make([]string, len(list))
	for i, text := range list {
		quoted[i] = "'" + literalEscapes.Replace(text) + "'"
	}
	return "[" + strings.Join(quoted, ",") + "]"
}

// Number is a number as a parameter.
func Number(n uint64) string { return strconv.FormatUint(n, 10) }

// Numbers is a list of numbers as a parameter.
func Numbers(list []uint64) string {
	text := make([]byte, 0, 21*len(list)+2)
	text = append(text, '[')
	for i, n := range list {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendUint(text, n, 10)
	}
	return string(append(text, ']'))
}

// Time is a time as a parameter; no time is the first one.
func Time(t time.Time) string {
	if t.IsZero() {
		t = time.Unix(0, 0)
	}
	return t.UTC().Format("2006-01-02 15:04:05.000000000")
}
