package embedded

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// StartTest starts servers of the test's own in a temporary folder, changed by
// the options, and closes them when the test ends. An engine takes about 0.3 s
// to start; where a database of its own is enough, StartShared is faster.
//
// It skips the test where the engine cannot be had (no npm, no network, no pin,
// no space), and fails it there when CI is "true". The package's TestMain must
// call Main first.
//
// It also skips the test in the short form of the tests, unless the test called
// Smoke.
func StartTest(tb testing.TB, options ...func(*Config)) *Servers {
	tb.Helper()
	needsServers(tb)
	c := DefaultConfig(tb.TempDir())
	for _, option := range options {
		option(&c)
	}
	s, err := Start(context.Background(), c)
	if err != nil {
		giveUp(tb, err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close the embedded servers: %v", err)
		}
	})
	return s
}

// smoke has the names of the tests that called Smoke.
var smoke sync.Map

// Smoke lets a test start servers in the short form of the tests, too, which is for the
// one test of a package that shows most in a few seconds.
func Smoke(tb testing.TB) { smoke.Store(tb.Name(), true) }

func needsServers(tb testing.TB) {
	tb.Helper()
	if _, ok := smoke.Load(tb.Name()); testing.Short() && !ok {
		tb.Skip("needs servers: run without -short")
	}
}

// StartShared gives the test an empty database of its own in one ClickHouse that
// the tests of the process share, and a NATS server of its own. Both are gone
// when the test ends; the shared engine ends with the process, however that
// ends, and removes its folder. Skips and fails like StartTest.
//
// The test must not Close what it gets, and must not harm the shared engine: a
// test that kills it uses StartTest.
func StartShared(tb testing.TB) *Servers {
	tb.Helper()
	return share(tb, StartTest(tb, func(c *Config) { c.NoClickHouse = true }), nil)
}

// SharedClickHouse is StartShared without NATS.
func SharedClickHouse(tb testing.TB) *Servers {
	tb.Helper()
	return share(tb, &Servers{}, nil)
}

// EmptyStream makes a stream, of a configuration as the JetStream API has it, by
// restoring an empty one, and returns a function that stores a message in it as of
// a time of the test's choosing: the one thing of a real server that a test cannot
// have by waiting. Times must not go back.
func (s *Servers) EmptyStream(tb testing.TB, config []byte) (store func(subject string, header map[string][]string, data []byte, at time.Time)) {
	tb.Helper()
	var c server.StreamConfig
	if err := json.Unmarshal(config, &c); err != nil {
		tb.Fatal(err)
	}
	meta, err := json.Marshal(server.FileStreamInfo{Created: time.Now().UTC(), StreamConfig: c})
	if err != nil {
		tb.Fatal(err)
	}
	stream, err := s.nats.GlobalAccount().RestoreStream(&c, bytes.NewReader(snapshotOf(tb, server.JetStreamMetaFile, meta)))
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

// snapshotOf returns what the server takes for a snapshot that has one file: a tar
// archive in one frame of Snappy, which need not be compressed.
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

var (
	sharedEngine = sync.OnceValues(startSharedEngine)
	sharedTests  atomic.Int64
)

func startSharedEngine() (*Servers, error) {
	dir, err := os.MkdirTemp("", "ctxledger-test-")
	if err != nil {
		return nil, err
	}
	c := DefaultConfig(dir)
	c.NoNATS, c.removeDir = true, true
	s, err := Start(context.Background(), c)
	if err != nil {
		os.RemoveAll(dir)
	}
	return s, err
}

// share lets s have the shared engine, with a database for this test: a copy of the
// template, or an empty one without it.
func share(tb testing.TB, s *Servers, template *Template) *Servers {
	tb.Helper()
	needsServers(tb)
	shared, err := sharedEngine()
	if err != nil {
		giveUp(tb, err)
	}
	database := fmt.Sprintf("ctxledger_test_%d", sharedTests.Add(1))
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := template.copyTo(ctx, shared, database); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := shared.probe().exec(ctx, "DROP DATABASE IF EXISTS "+database+" SYNC"); err != nil {
			tb.Errorf("drop the test's database: %v", err)
		}
	})
	s.addresses.ClickHouseDSN = shared.dsnOf(shared.addresses.ClickHouseDSN, database)
	s.addresses.ReaderDSN = shared.dsnOf(shared.addresses.ReaderDSN, database)
	s.addresses.HTTPURL = shared.addresses.HTTPURL
	return s
}

// dsnOf names another database in one of the server's addresses.
func (s *Servers) dsnOf(dsn, database string) string {
	return strings.TrimSuffix(dsn, s.config.Database) + database
}

func (s *Servers) probe() *probe {
	return newProbe(s.engine.tcp, s.engine.http, s.creds).patient()
}

// giveUp skips or fails the test, as StartTest says.
func giveUp(tb testing.TB, err error) {
	tb.Helper()
	for _, absent := range []error{ErrNoPin, ErrNoNPM, ErrNoNetwork, ErrNPM, ErrDiskFull} {
		if errors.Is(err, absent) && os.Getenv("CI") != "true" {
			tb.Skip(err)
		}
	}
	tb.Fatal(err)
}
