package schema

import (
	"bytes"
	_ "embed"
)

//go:embed asyncapi.json
var asyncAPI []byte

// AsyncAPI returns the AsyncAPI 3 document of everything that ctxledger reads
// and writes on NATS: a channel per subject, the messages of each in both
// content modes, the headers, the schemas and the streams. It is generated
// from the Go types. The caller may change the bytes.
func AsyncAPI() []byte { return bytes.Clone(asyncAPI) }
