package importer_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/producer/importer"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/schema"
)

// transcriptsOf returns the real logs of a format.
func transcriptsOf(tb testing.TB, f model.Format) map[string][]byte {
	tb.Helper()
	files, problems := importer.Files(filepath.Join(transcripts(tb), string(f)), f)
	if len(files) == 0 || len(problems) > 0 {
		tb.Fatal(files, problems)
	}
	logs := make(map[string][]byte)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		logs[filepath.Base(file)] = text
		if f == model.FormatCodex { // text of the size in the scrubber's mark
			logs["unscrubbed-"+filepath.Base(file)] = scrubbed.ReplaceAllFunc(text, func(mark []byte) []byte {
				n, _ := strconv.Atoi(string(scrubbed.FindSubmatch(mark)[1]))
				return slices.Concat(mark[1:len(mark)-1], bytes.Repeat([]byte(" some words of a text, and then more"), n/36))
			})
		}
	}
	return logs
}

var scrubbed = regexp.MustCompile(`\[REDACTED_[A-Z_]+ len=([0-9]+) sha=[0-9a-f]+\]`)

func discard(*schema.Event) error { return nil }

// processorTime is the CPU time of the process so far, including garbage collection. Other load
// on the machine changes it less than the elapsed time.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkParse measures each importer without token counts and digests.
func BenchmarkParse(b *testing.B) {
	for _, f := range model.Formats()[1:] {
		for file, text := range transcriptsOf(b, f) {
			b.Run(string(f)+"/"+file, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				began := processorTime(b)
				for b.Loop() {
					if _, err := importer.Import(context.Background(), f, file, bytes.NewReader(text), model.Options{}, discard); err != nil {
						b.Fatal(err)
					}
				}
				used := processorTime(b) - began
				b.ReportMetric(float64(len(text)*b.N)/1e6/used.Seconds(), "MB/cpu-s")
			})
		}
	}
}
