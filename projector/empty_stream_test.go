package projector

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/ctxledger/ctxledger/deploy/embedded/embeddedtest"
)

// emptyStream makes a stream by restoring an empty one. The configuration has the form of the
// JetStream API. The returned function stores a message with a chosen time, which a real server
// does not offer. Times must not go back.
func emptyStream(tb testing.TB, s *embeddedtest.Servers, config []byte) (store func(subject string, header map[string][]string, data []byte, at time.Time)) {
	tb.Helper()
	var c server.StreamConfig
	if err := json.Unmarshal(config, &c); err != nil {
		tb.Fatal(err)
	}
	meta, err := json.Marshal(server.FileStreamInfo{Created: time.Now().UTC(), StreamConfig: c})
	if err != nil {
		tb.Fatal(err)
	}
	stream, err := s.NATSServer().GlobalAccount().RestoreStream(&c, bytes.NewReader(snapshotOf(tb, server.JetStreamMetaFile, meta)))
	if err != nil {
		tb.Fatal(err)
	}
	messages := stream.Store()
	return func(subject string, header map[string][]string, data []byte, at time.Time) {
		tb.Helper()
		text := []byte("NATS/1.0\r\n")
		for name, values := range header {
			for _, value := range values {
				text = fmt.Appendf(text, "%s: %s\r\n", name, value)
			}
		}
		text = append(text, "\r\n"...)
		var state server.StreamState
		messages.FastState(&state)
		if err := messages.StoreRawMsg(subject, text, data, state.LastSeq+1, at.UnixNano(), 0, true); err != nil {
			tb.Fatal(err)
		}
	}
}

// snapshotOf returns a snapshot with one file in the server's format: a tar archive in one
// frame of Snappy, uncompressed.
func snapshotOf(tb testing.TB, name string, content []byte) []byte {
	tb.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(content))})
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		tb.Fatal(err)
	}
	sum := crc32.Checksum(archive.Bytes(), crc32.MakeTable(crc32.Castagnoli))
	size := 4 + archive.Len()
	frame := append([]byte("\xff\x06\x00\x00sNaPpY"), 1, byte(size), byte(size>>8), byte(size>>16))
	frame = binary.LittleEndian.AppendUint32(frame, (sum>>15|sum<<17)+0xa282ead8)
	return append(frame, archive.Bytes()...)
}
