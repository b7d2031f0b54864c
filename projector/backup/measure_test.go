package backup

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestABackupTakesFewCopies: a full backup takes at most four times as long as a copy of the same
// bytes. It measures, and runs only with CTXLEDGER_MEASURE.
func TestABackupTakesFewCopies(t *testing.T) {
	if os.Getenv("CTXLEDGER_MEASURE") == "" {
		t.Skip("measures: set CTXLEDGER_MEASURE")
	}
	in := install(t)
	in.fill(t)
	bytes := func(dir string) (n int64) {
		files, err := hashFiles(t.Context(), dir, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		return Manifest{Files: files}.Bytes()
	}
	const rounds = 5
	for range rounds {
		target := t.TempDir()
		began := time.Now()
		m, err := in.create(target).Run(t.Context())
		took := time.Since(began)
		if err != nil {
			t.Fatal(err)
		}
		began = time.Now()
		copied := filepath.Join(target, "copied")
		if err := copyFolder(context.Background(), filepath.Join(target, m.Name), copied); err != nil {
			t.Fatal(err)
		}
		if err := finish(copied, target, "finished"); err != nil {
			t.Fatal(err)
		}
		raw := time.Since(began)
		t.Logf("%d MB in %d files: backup %v, copy %v, ratio %.2f", bytes(filepath.Join(target, m.Name))>>20, len(m.Files), took, raw, took.Seconds()/raw.Seconds())
		if took > 4*raw {
			t.Errorf("the backup takes %.1f copies, want at most 4", took.Seconds()/raw.Seconds())
		}
	}
}

// TestAnIncrementalBackupTakesItsShare: an incremental backup of a tenth of the messages takes at most half
// as long as the full one. It measures, and runs only with CTXLEDGER_MEASURE.
func TestAnIncrementalBackupTakesItsShare(t *testing.T) {
	if os.Getenv("CTXLEDGER_MEASURE") == "" {
		t.Skip("measures: set CTXLEDGER_MEASURE")
	}
	in, target := install(t), t.TempDir()
	in.fill(t)
	const rounds, later = 5, 10_000
	for range rounds {
		began := time.Now()
		full, err := in.create(target).Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		took := time.Since(began)
		for range later {
			if _, err := in.js.PublishAsync("ctx.v1.acme.runtime.p00.turn.started", make([]byte, 1000)); err != nil {
				t.Fatal(err)
			}
		}
		<-in.js.PublishAsyncComplete()
		c := in.create(target)
		c.Base = filepath.Join(target, full.Name)
		began = time.Now()
		m, err := c.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		share := time.Since(began)
		t.Logf("%d messages: full backup %v, %d MB; %d later ones: incremental backup %v, %d KB", full.Streams[1].Last, took, full.Bytes()>>20, later, share, m.Bytes()>>10)
		if share > took/2 {
			t.Errorf("the incremental backup takes %v, want at most half of %v", share, took)
		}
	}
}

// fill stores 100 MB of messages, and 200 MB of rows that do not compress.
func (in installation) fill(t *testing.T) {
	t.Helper()
	in.publish(t, 1, 1)
	body := make([]byte, 1000)
	for range 100_000 {
		if _, err := in.js.PublishAsync("ctx.v1.acme.runtime.p00.turn.started", body); err != nil {
			t.Fatal(err)
		}
	}
	<-in.js.PublishAsyncComplete()
	err := in.ledger.SQL(nil).Conn.Exec(t.Context(), "INSERT INTO events (incarnation, stream_seq, recorded_at, event_id, data) SELECT generateUUIDv4(), number, now64(9), toString(number), randomPrintableASCII(1000) FROM numbers(250000)")
	if err != nil {
		t.Fatal(err)
	}
}
