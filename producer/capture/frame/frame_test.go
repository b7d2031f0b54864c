package frame

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/klauspost/compress/flate"
	"pgregory.net/rapid"
)

// tapped is a connection that copies what it reads and writes.
type tapped struct {
	net.Conn
	read, wrote *bytes.Buffer
}

func (c tapped) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read.Write(p[:n])
	return n, err
}

func (c tapped) Write(p []byte) (int, error) {
	c.wrote.Write(p)
	return c.Conn.Write(p)
}

// TestLibrary reads a conversation of a library: both sides send the same messages, some in
// fragments, with pings between them.
func TestLibrary(t *testing.T) {
	t.Parallel()
	messages := []string{
		`{"type":"response.create"}`, "", strings.Repeat("a long message that repeats ", 9000), "héllo", strings.Repeat("x", 126),
		strings.Repeat("a long message that repeats ", 40), strings.Repeat("y", 65536),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		mode := map[string]websocket.CompressionMode{"": websocket.CompressionContextTakeover, "alone": websocket.CompressionNoContextTakeover, "plain": websocket.CompressionDisabled}
		conn, err := websocket.Accept(w, in, &websocket.AcceptOptions{CompressionMode: mode[in.URL.RawQuery]})
		if err != nil {
			return
		}
		defer conn.CloseNow()
		conn.SetReadLimit(-1)
		for {
			kind, message, err := conn.Read(in.Context())
			if err != nil || conn.Write(in.Context(), kind, message) != nil {
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	for _, query := range []string{"", "alone", "plain"} {
		t.Run("mode "+query, func(t *testing.T) {
			t.Parallel()
			var read, wrote bytes.Buffer
			transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, network, address)
				return tapped{conn, &read, &wrote}, err
			}}
			options := &websocket.DialOptions{CompressionMode: websocket.CompressionContextTakeover, HTTPClient: &http.Client{Transport: transport}}
			conn, response, err := websocket.Dial(t.Context(), server.URL+"?"+query, options)
			if err != nil {
				t.Fatal(err)
			}
			conn.SetReadLimit(-1)
			for _, message := range messages {
				w, err := conn.Writer(t.Context(), websocket.MessageText)
				if err != nil {
					t.Fatal(err)
				}
				for piece := range slices.Chunk([]byte(message), 5000) {
					if _, err := w.Write(piece); err != nil {
						t.Fatal(err)
					}
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				if _, back, err := conn.Read(t.Context()); err != nil || string(back) != message {
					t.Fatalf("%d bytes came back, %v", len(back), err)
				}
			}
			_ = conn.Close(websocket.StatusNormalClosure, "")
			client, answers, known := Negotiated(response.Header)
			if !known || client.On != (query != "plain") || client.Takeover != (query == "") || answers != client {
				t.Fatalf("the sides agreed on %+v and %+v: %s", client, answers, response.Header)
			}
			for _, side := range []struct {
				bytes   []byte
				deflate Deflate
			}{{wrote.Bytes(), client}, {read.Bytes(), answers}} {
				_, frames, _ := bytes.Cut(side.bytes, []byte("\r\n\r\n"))
				for _, size := range []int{1, 7, 4096, len(frames)} {
					if got, err := readAll(side.deflate, frames, size); err != nil || !slices.Equal(got, messages) {
						t.Errorf("in pieces of %d: %d messages, %v", size, len(got), err)
					}
				}
			}
		})
	}
}

// readAll returns the messages of bytes that come in pieces of a size.
func readAll(deflate Deflate, frames []byte, size int) (messages []string, err error) {
	r := NewReader(deflate, func(m []byte) { messages = append(messages, string(m)) })
	for piece := range slices.Chunk(frames, max(size, 1)) {
		if _, err = r.Write(piece); err != nil {
			return messages, err
		}
	}
	return messages, nil
}

// appendFrame appends a frame to out. first is the first byte.
func appendFrame(out []byte, first byte, mask []byte, payload []byte) []byte {
	masked := byte(0)
	if mask != nil {
		masked = 0x80
	}
	switch n := len(payload); {
	case n < 126:
		out = append(out, first, masked|byte(n))
	case n < 1<<16:
		out = binary.BigEndian.AppendUint16(append(out, first, masked|126), uint16(n))
	default:
		out = binary.BigEndian.AppendUint64(append(out, first, masked|127), uint64(n))
	}
	out = append(out, mask...)
	for i, c := range payload {
		if mask != nil {
			c ^= mask[i%4]
		}
		out = append(out, c)
	}
	return out
}

// TestFragments: messages in any fragments, with any masks, with control frames between them and
// in pieces of any size are the messages that were sent. A cut at any place gives a prefix.
func TestFragments(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		deflate := Deflate{On: rapid.Bool().Draw(t, "deflate"), Takeover: rapid.Bool().Draw(t, "takeover")}
		var packed bytes.Buffer
		packer, _ := flate.NewWriter(&packed, flate.BestSpeed)
		var want []string
		var frames []byte
		control := func() {
			if rapid.IntRange(0, 3).Draw(t, "control") == 0 {
				frames = appendFrame(frames, 0x80|rapid.SampledFrom([]byte{8, 9, 10}).Draw(t, "opcode"), nil, make([]byte, rapid.IntRange(0, 125).Draw(t, "size")))
			}
		}
		for _, text := range rapid.SliceOfN(rapid.StringN(0, 300, -1), 1, 8).Draw(t, "messages") {
			want = append(want, text)
			payload, first := []byte(text), byte(1)
			if deflate.On && rapid.Bool().Draw(t, "compressed") {
				if packed.Reset(); !deflate.Takeover {
					packer.Reset(&packed)
				}
				_, _ = packer.Write(payload)
				_ = packer.Flush()
				payload, first = bytes.Clone(packed.Bytes()[:packed.Len()-4]), 0x41
			} else if deflate.On && deflate.Takeover {
				first = 2 // a message that is not compressed does not enter the window
			}
			for cuts := rapid.IntRange(0, 3).Draw(t, "cuts"); ; cuts-- {
				control()
				n := len(payload)
				if cuts > 0 {
					n = rapid.IntRange(0, n).Draw(t, "at")
				} else {
					first |= 0x80
				}
				var mask []byte
				if rapid.Bool().Draw(t, "masked") {
					mask = rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "mask")
				}
				frames = appendFrame(frames, first, mask, payload[:n])
				payload, first = payload[n:], 0
				if cuts == 0 {
					break
				}
			}
		}
		size := rapid.IntRange(1, len(frames)).Draw(t, "pieces")
		if got, err := readAll(deflate, frames, size); err != nil || !slices.Equal(got, want) {
			t.Fatalf("%q instead of %q, %v", got, want, err)
		}
		cut := rapid.IntRange(0, len(frames)).Draw(t, "cut")
		if got, err := readAll(deflate, frames[:cut], size); err != nil || !slices.Equal(got, want[:len(got)]) {
			t.Fatalf("cut at %d: %q instead of a prefix of %q, %v", cut, got, want, err)
		}
	})
}

// TestHostile: bytes that break the protocol end the reading with an error, before any memory is
// taken for them.
func TestHostile(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	packer, _ := flate.NewWriter(&bomb, flate.BestCompression)
	for range MaxMessageBytes>>20 + 1 {
		_, _ = packer.Write(make([]byte, 1<<20))
	}
	_ = packer.Flush()
	huge := binary.BigEndian.AppendUint64([]byte{0x81, 127}, 1<<62)
	for name, test := range map[string]struct {
		bytes []byte
		want  error
	}{
		"reserved bit":               {[]byte{0xa1, 0}, ErrFrame},
		"reserved opcode":            {[]byte{0x83, 0}, ErrFrame},
		"reserved control":           {[]byte{0x8b, 0}, ErrFrame},
		"continuation of nothing":    {[]byte{0x80, 0}, ErrFrame},
		"message within a message":   {[]byte{0x01, 0, 0x81, 0}, ErrFrame},
		"control in fragments":       {[]byte{0x09, 0}, ErrFrame},
		"large control":              {[]byte{0x89, 126, 0, 126}, ErrFrame},
		"compressed continuation":    {[]byte{0x41, 0, 0xc0, 0}, ErrFrame},
		"compressed control":         {[]byte{0xc9, 0}, ErrFrame},
		"negative length":            {binary.BigEndian.AppendUint64([]byte{0x81, 127}, 1<<63), ErrFrame},
		"length above the limit":     {huge, ErrMessage},
		"fragments above the limit":  {append([]byte{0x01, 1, 'x', 0x00, 127}, binary.BigEndian.AppendUint64(nil, MaxMessageBytes)...), ErrMessage},
		"no deflate":                 {append([]byte{0xc1, 4}, 0xff, 0xff, 0xff, 0xff), ErrMessage},
		"reference before the start": {append([]byte{0xc1, 3}, 0x4b, 0x04, 0x42), ErrMessage},
		"bomb":                       {appendFrame(nil, 0xc1, nil, bomb.Bytes()[:bomb.Len()-4]), ErrMessage},
		"an HTTP answer":             {[]byte("HTTP/1.1 200 OK\r\n"), ErrFrame},
	} {
		after := append(test.bytes, appendFrame(nil, 0x81, nil, []byte("more"))...)
		got, err := readAll(Deflate{On: true, Takeover: true}, after, 3)
		if !errors.Is(err, test.want) || len(got) > 0 {
			t.Errorf("%s: %d messages, %v", name, len(got), err)
		}
	}
	if _, err := readAll(Deflate{}, []byte{0xc1, 0}, 1); !errors.Is(err, ErrFrame) {
		t.Errorf("a compressed message without agreement: %v", err)
	}
}

func TestNegotiated(t *testing.T) {
	t.Parallel()
	for header, want := range map[string][4]bool{ // client, its takeover, server's takeover, known
		"":                   {false, false, false, true},
		"permessage-deflate": {true, true, true, true},
		"permessage-deflate; server_no_context_takeover; client_max_window_bits=12":      {true, true, false, true},
		" permessage-deflate ;client_no_context_takeover; server_max_window_bits=\"10\"": {true, false, true, true},
		"x-webkit-deflate-frame":                 {},
		"permessage-deflate, permessage-encrypt": {},
	} {
		client, server, known := Negotiated(http.Header{"Sec-Websocket-Extensions": {header}})
		if got := [4]bool{client.On, client.Takeover, server.Takeover, known}; got != want || server.On != client.On {
			t.Errorf("%q: %v", header, got)
		}
	}
}

// FuzzReader: the messages of any bytes do not depend on the borders of the pieces.
func FuzzReader(f *testing.F) {
	f.Add([]byte{0x81, 2, 'h', 'i', 0x89, 0, 0x01, 1, 'a', 0x80, 1, 'b'}, uint8(3), true)
	f.Add(appendFrame(nil, 0xc1, []byte{1, 2, 3, 4}, []byte{0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00}), uint8(1), true)
	f.Add(appendFrame(nil, 0x82, []byte{1, 2, 3, 4}, bytes.Repeat([]byte("x"), 300)), uint8(200), false)
	f.Fuzz(func(t *testing.T, frames []byte, size uint8, on bool) {
		deflate := Deflate{On: on, Takeover: true}
		want, wantErr := readAll(deflate, frames, len(frames))
		got, err := readAll(deflate, frames, int(size))
		if !slices.Equal(got, want) || (err == nil) != (wantErr == nil) {
			t.Errorf("%q, %v instead of %q, %v", got, err, want, wantErr)
		}
	})
}
