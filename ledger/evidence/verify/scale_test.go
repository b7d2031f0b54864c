package verify

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/ctxledger/ctxledger/ledger/evidence/pack"
)

// BenchmarkVerify verifies a pack of CTXLEDGER_RECORDS records, 10000 by default,
// and reports the most memory that the process ever had.
func BenchmarkVerify(b *testing.B) {
	r := sealed(b, filepath.Join(b.TempDir(), "pack"), false, number(b, recordsVariable, 10000), 3)
	options := Options{Keys: []note.Verifier{r.key.public}}
	var size int64
	p, err := pack.Open(r.target, pack.DefaultLimits())
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range p.Files() {
		size += e.Size
	}
	r.must(p.Close())
	b.SetBytes(size)
	for b.Loop() {
		report, err := Pack(context.Background(), r.target, options)
		if err != nil || report.Failed() {
			b.Fatal(err, report)
		}
	}
	b.ReportMetric(peak(b), "peak-MB")
}

// peak is the process's largest resident set so far.
func peak(b *testing.B) float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(text, []byte("VmHWM:"))
	n, _ := strconv.Atoi(string(bytes.Fields(rest)[0]))
	return float64(n) / 1024
}
