package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/ctxledger/ctxledger/producer/importer"
	"github.com/ctxledger/ctxledger/producer/window"
	"github.com/ctxledger/ctxledger/schema"
)

// BenchmarkImportCounting measures each importer with token counts against the
// tokenizer alone on the same texts, each distinct text once: of_tokenizer is
// the share of the tokenizer's speed that is left.
func BenchmarkImportCounting(b *testing.B) {
	discard := func(*schema.Event) error { return nil }
	for _, f := range importer.Formats()[1:] {
		files, problems := importer.Files(filepath.Join(shared(b, "transcripts"), string(f)), f)
		if len(files) == 0 || len(problems) > 0 {
			b.Fatal(files, problems)
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
					began := time.Now()
					for _, t := range texts {
						counter.Count(t.model, t.text)
					}
					alone += time.Since(began)
					counter = window.NewCounter(window.CounterConfig{})
					counter.Count("gpt-4o", "load the vocabulary")
					opts.Count = func(model, text string) (int64, string) {
						count := counter.Count(model, text)
						return int64(count.Tokens), count.Estimator
					}
					began = time.Now()
					if _, err := importer.ImportFile(b.Context(), f, file, opts, discard); err != nil {
						b.Fatal(err)
					}
					together += time.Since(began)
				}
			}
			b.ReportMetric(alone.Seconds()/together.Seconds(), "of_tokenizer")
		})
	}
}
