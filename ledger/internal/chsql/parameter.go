package chsql

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/google/uuid"
)

// MostValues is how many values one statement names. Longer lists are divided.
const MostValues = 20_000

// A Param is the value of a parameter in the server's encoding. The functions of this package
// make one: a plain text is none, because the server would parse its backslashes and line breaks.
type Param struct{ encoded string }

// String returns the value in the server's encoding.
func (p Param) String() string { return p.encoded }

// Encoded returns the parameters for the client library.
func (p Params) Encoded() clickhouse.Parameters {
	encoded := make(clickhouse.Parameters, len(p))
	for name, value := range p {
		encoded[name] = value.encoded
	}
	return encoded
}

// The server reads parameters as fields of tab-separated text.
var escapes = strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`, "\x00", `\0`)

// literalEscapes are the escapes of a text in a list parameter.
var literalEscapes = strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\t", `\t`, "\n", `\n`, "\r", `\r`, "\x00", `\0`)

// Text is a text as a parameter.
func Text[T ~string](text T) Param { return Param{escapes.Replace(string(text))} }

// Tables is the pattern of exactly these tables, for the table function merge. One statement that reads many
// tables takes the server less time than one for each.
func Tables(names []string) Param { return Text("^(" + strings.Join(names, "|") + ")$") }

// Texts is a list of texts as a parameter.
func Texts(list []string) Param {
	quoted := make([]string, len(list))
	for i, text := range list {
		quoted[i] = "'" + literalEscapes.Replace(text) + "'"
	}
	return Param{"[" + strings.Join(quoted, ",") + "]"}
}

// Literal is a value that its user wrote as a ClickHouse literal, such as a list.
func Literal(literal string) Param { return Param{literal} }

// Number is a number as a parameter.
func Number[N ~int | ~int64 | ~uint32 | ~uint64](n N) Param { return Param{fmt.Sprint(n)} }

// Numbers is a list of numbers as a parameter.
func Numbers(list []uint64) Param {
	text := make([]byte, 0, 21*len(list)+2)
	text = append(text, '[')
	for i, n := range list {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendUint(text, n, 10)
	}
	return Param{string(append(text, ']'))}
}

// Lists is a list of lists of numbers as a parameter.
func Lists(lists [][]uint64) Param {
	encoded := make([]string, len(lists))
	for i, list := range lists {
		encoded[i] = Numbers(list).encoded
	}
	return Param{"[" + strings.Join(encoded, ",") + "]"}
}

// Bool is a truth value as a parameter.
func Bool(b bool) Param { return Param{strconv.FormatBool(b)} }

// UUID is an id as a parameter.
func UUID(id uuid.UUID) Param { return Param{id.String()} }

// UUIDs is a list of ids as a parameter.
func UUIDs(list []uuid.UUID) Param {
	texts := make([]string, len(list))
	for i, id := range list {
		texts[i] = id.String()
	}
	return Texts(texts)
}

// Time is a time as a parameter; no time is the first one.
func Time(t time.Time) Param {
	if t.IsZero() {
		t = time.Unix(0, 0)
	}
	return Param{t.UTC().Format("2006-01-02 15:04:05.000000000")}
}
