package main

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

	"github.com/ctxledger/ctxledger/producer/importer"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// BenchmarkImportCounting measures each importer with token counts against the
// tokenizer alone on the same texts, each distinct text once: of_tokenizer is
// the share of the tokenizer's speed that is left. It takes the time of the
// process's processors, so that what else the machine does tells little.
func BenchmarkImportCounting(b *testing.B) {
	discard := func(*schema.Event) error { return nil }
	for _, f := range importer.Formats()[1:] {
		files, problems := importer.Files(filepath.Join(shared(b, "transcripts"), string(f)), f)
		if len(files) == 0 || len(problems) > 0 {
			b.Fatal(files, problems)
		}
		if f == importer.FormatCodex { // whose texts a scrubber took out, of some size
			for i := range files {
				files[i] = withTexts(b, files[i])
			}
		}
		b.Run(string(f), func(b *testing.B) {
			var alone, together time.Duration
			for b.Loop() {
				for _, file := range files {
					type counted struct{ model, text string }
					var texts []counted
					counter := window.NewCounter(window.CounterConfig{})
					counter.Count("gpt-4o", "load the vocabulary")
					opts := importer.Options{Count: func(model, text string) (int64, string) {
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
		})
	}
}

// processorTime is what the process used so far, garbage collection included.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

var scrubbedText = regexp.MustCompile(`\[REDACTED_[A-Z_]+ len=([0-9]+) sha=([0-9a-f]+)\]`)

// withTexts is a copy of a scrubbed log with a text of its own in the place of
// each mark: nothing counts a mark.
func withTexts(b *testing.B, file string) string {
	log, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	text := scrubbedText.ReplaceAllStringFunc(string(log), func(mark string) string {
		m := scrubbedText.FindStringSubmatch(mark)
		n, _ := strconv.Atoi(m[1])
		return m[2] + strings.Repeat(" the words, and then more of them: 42;", n/38)
	})
	file = filepath.Join(b.TempDir(), filepath.Base(file))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	return file
}
