package record_test

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/cmd/ctxledger/internal/cli/clitest"
	"github.com/ctxledger/ctxledger/producer/importer"
	"github.com/ctxledger/ctxledger/producer/importer/model"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// BenchmarkImportCounting measures each importer with token counts against the
// tokenizer alone on the same texts, each distinct text once: of_tokenizer is
// the share of the tokenizer's speed that is left. It takes the time of the
// process's processors, so that what else the machine does tells little.
//
// Of the 49 MB that the Codex log has with everything that a scrubber took out of
// it put back, 43 MB are images, each of them twice, and 1.1 MB are counted: no
// tokenizer is given an image. Those are read, which [importer.BenchmarkParse]
// measures, and would make the share that of images in a log. So codex leaves
// them out, and codex-with-images has them.
func BenchmarkImportCounting(b *testing.B) {
	for _, f := range model.Formats()[1:] {
		files, problems := importer.Files(filepath.Join(clitest.Shared(b, "transcripts"), string(f)), f)
		if len(files) == 0 || len(problems) > 0 {
			b.Fatal(files, problems)
		}
		runs := map[string][]string{string(f): files}
		if f == model.FormatCodex { // whose texts a scrubber took out, of some size
			runs = map[string][]string{"codex": withTexts(b, files, false), "codex-with-images": withTexts(b, files, true)}
		}
		for name, files := range runs {
			b.Run(name, func(b *testing.B) { importCounting(b, f, files) })
		}
	}
}

func importCounting(b *testing.B, f model.Format, files []string) {
	discard := func(*schema.Event) error { return nil }
	var alone, together time.Duration
	for b.Loop() {
		for _, file := range files {
			type counted struct{ model, text string }
			var texts []counted
			counter := window.NewCounter(window.CounterConfig{})
			counter.Count("gpt-4o", "load the vocabulary")
			opts := model.Options{Count: func(model, text string) (int64, string) {
				texts = append(texts, counted{model, text})
				return 0, ""
			}}
			if _, err := importer.ImportFile(b.Context(), f, file, opts, discard); err != nil {
				b.Fatal(err)
			}
			runtime.GC() // what came before is not paid for by what follows
			began := processorTime(b)
			for _, t := range texts {
				counter.Count(t.model, t.text)
			}
			alone += processorTime(b) - began
			counter = window.NewCounter(window.CounterConfig{})
			counter.Count("gpt-4o", "load the vocabulary")
			opts.Count = func(model, text string) (int64, string) {
				count := counter.Count(model, text)
				return int64(count.Tokens), count.Estimator
			}
			runtime.GC()
			began = processorTime(b)
			if _, err := importer.ImportFile(b.Context(), f, file, opts, discard); err != nil {
				b.Fatal(err)
			}
			together += processorTime(b) - began
		}
	}
	b.ReportMetric(alone.Seconds()/together.Seconds(), "of_tokenizer")
}

// processorTime is what the process used so far, garbage collection included.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

var scrubbedText = regexp.MustCompile(`\[REDACTED_([A-Z_]+) len=([0-9]+) sha=([0-9a-f]+)\]`)

// withTexts are copies of scrubbed logs with a text of its own in the place of each
// mark: nothing counts a mark. Those of images stay unless images is set.
func withTexts(b *testing.B, files []string, images bool) []string {
	folder := b.TempDir()
	copies := make([]string, len(files))
	for i, file := range files {
		log, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		text := scrubbedText.ReplaceAllStringFunc(string(log), func(mark string) string {
			m := scrubbedText.FindStringSubmatch(mark)
			if strings.HasPrefix(m[1], "IMAGE") && !images {
				return mark
			}
			n, _ := strconv.Atoi(m[2])
			return m[3] + strings.Repeat(" the words, and then more of them: 42;", n/38)
		})
		copies[i] = filepath.Join(folder, filepath.Base(file))
		if err := os.WriteFile(copies[i], []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return copies
}
