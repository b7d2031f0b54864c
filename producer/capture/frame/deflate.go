package frame

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/klauspost/compress/flate"
)

// Deflate says how the messages of one direction are compressed. The zero value is not at all.
type Deflate struct {
	On       bool
	Takeover bool // a message can refer to the messages before it
}

// Negotiated returns the compression of both directions from the headers of the response that
// opened the connection. It returns false if the sides agreed on an extension other than
// permessage-deflate.
func Negotiated(h http.Header) (client, server Deflate, known bool) {
	list := strings.TrimSpace(strings.Join(h.Values("Sec-Websocket-Extensions"), ","))
	if list == "" {
		return client, server, true
	}
	name, parameters, _ := strings.Cut(list, ";")
	if strings.TrimSpace(name) != "permessage-deflate" || strings.Contains(list, ",") {
		return client, server, false
	}
	client, server = Deflate{On: true, Takeover: true}, Deflate{On: true, Takeover: true}
	for parameter := range strings.SplitSeq(parameters, ";") {
		switch strings.TrimSpace(parameter) {
		case "client_no_context_takeover":
			client.Takeover = false
		case "server_no_context_takeover":
			server.Takeover = false
		}
	}
	return client, server, true
}

// windowBytes is how far back a compressed message can refer.
const windowBytes = 32 << 10

// tail ends the last block of a message, which the sender leaves out, and the stream.
const tail = "\x00\x00\xff\xff\x01\x00\x00\xff\xff"

// inflater inflates the messages of one direction.
type inflater struct {
	takeover bool
	window   []byte // the end of the messages before
	reader   io.ReadCloser
}

// message returns the text of a compressed message.
func (i *inflater) message(compressed []byte) ([]byte, error) {
	from := io.MultiReader(bytes.NewReader(compressed), strings.NewReader(tail))
	if i.reader == nil {
		i.reader = flate.NewReaderDict(from, i.window)
	} else if err := i.reader.(flate.Resetter).Reset(from, i.window); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	var out bytes.Buffer
	n, err := io.Copy(&out, io.LimitReader(i.reader, MaxMessageBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: it does not inflate", ErrMessage)
	case n > MaxMessageBytes:
		return nil, fmt.Errorf("%w: more than %d bytes when inflated", ErrMessage, MaxMessageBytes)
	}
	text := out.Bytes()
	if i.takeover {
		i.window = append(i.window, text[max(0, len(text)-windowBytes):]...)
		i.window = append(i.window[:0], i.window[max(0, len(i.window)-windowBytes):]...)
	}
	return text, nil
}
