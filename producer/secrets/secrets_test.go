package secrets

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/viper"

	"github.com/ctxledger/ctxledger/producer/redact"
	"github.com/ctxledger/ctxledger/schema"
)

func rules(t testing.TB) *Rules {
	t.Helper()
	r, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// letters returns n characters of an alphabet; the same seed gives the same text.
func letters(seed uint64, alphabet string, n int) string {
	r := rand.New(rand.NewPCG(seed, 4))
	var b strings.Builder
	for range n {
		b.WriteByte(alphabet[r.IntN(len(alphabet))])
	}
	return b.String()
}

const (
	upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	lower = "abcdefghijklmnopqrstuvwxyz"
	digit = "0123456789"
)

// planted returns secrets that are assembled here, so no scanner reports this file.
func planted() map[string]string {
	return map[string]string{
		"aws-access-token":    "AKIA" + letters(1, upper+"234567", 16),
		"github-pat":          "ghp_" + letters(2, upper+lower+digit, 36),
		"slack-bot-token":     "xoxb-" + letters(3, digit, 12) + "-" + letters(4, digit, 12) + "-" + letters(5, upper+lower+digit, 24),
		"stripe-access-token": "sk_live_" + letters(6, upper+lower+digit, 24),
		"jwt":                 "eyJ" + letters(7, upper+lower+digit, 30) + ".eyJ" + letters(8, upper+lower+digit, 60) + "." + letters(9, upper+lower+digit, 43),
	}
}

func TestDetect(t *testing.T) {
	t.Parallel()
	r := rules(t)
	for rule, secret := range planted() {
		text := "title: the deploy failed\nuser_summary: it used " + secret + " for it\n"
		guard, err := redact.New(r.Detect(t.Context(), text)...)
		if err != nil {
			t.Fatal(err)
		}
		masked, hits := guard.Mask(text)
		want := strings.ReplaceAll(text, secret, redact.Placeholder(PolicyPrefix+rule))
		if masked != want || len(hits) != 1 || hits[0].Reason != Reason {
			t.Errorf("%s: %d hits, %q", rule, len(hits), strings.ReplaceAll(masked, secret, "(secret)"))
		}
		if again := r.Detect(t.Context(), masked); again != nil {
			t.Errorf("%s: the masked text has %d secrets", rule, len(again))
		}
	}
	if found := r.Detect(t.Context(), "password: "+letters(1, lower+digit, 30)+" # gitleaks:allow"); len(found) != 1 {
		t.Errorf("a text switches the rules off: %d found", len(found))
	}
}

// TestGoldenEvents: ids, digests and words of the contract are not secrets.
func TestGoldenEvents(t *testing.T) {
	t.Parallel()
	r := rules(t)
	for _, kind := range schema.Types() {
		guard, err := redact.New(r.Detect(t.Context(), string(schema.Golden(kind)))...)
		if err != nil {
			t.Fatal(err)
		}
		for _, hit := range guard.Check(string(schema.Golden(kind))) {
			t.Errorf("%s: %s finds %q", kind, hit.PolicyRef, schema.Golden(kind)[hit.Start:hit.End])
		}
	}
}

func TestConcurrent(t *testing.T) {
	t.Parallel()
	r := rules(t)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for rule, secret := range planted() {
				if len(r.Detect(t.Context(), "x "+secret+" y")) != 1 {
					t.Errorf("%s is not found", rule)
				}
			}
		})
	}
	wait.Wait()
}

// TestHostKeepsItsSettings: the global instance of viper belongs to the host and does not
// change.
func TestHostKeepsItsSettings(t *testing.T) {
	viper.Set("host", "setting")
	rules(t)
	if keys := viper.AllKeys(); len(keys) != 1 || viper.GetString("host") != "setting" {
		t.Errorf("the host's settings became %v", keys)
	}
}

// BenchmarkDetect checks texts without secrets. If a text holds a keyword of a rule, such
// as "key", the rule's expression runs on the whole text.
func BenchmarkDetect(b *testing.B) {
	r := rules(b)
	for name, line := range map[string]string{
		"plain": "title: The quick brown fox reads producer/window/fit.go and its tests again\nnote: it fits, item by item\n",
		"words": "title: The quick brown fox reads producer/window/fit.go and its tests again\nnote: the access key of the api\n",
	} {
		for _, size := range []int{1 << 10, 64 << 10} {
			text := strings.Repeat(line, size/len(line))
			b.Run(fmt.Sprintf("%s/%dKB", name, size>>10), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					if found := r.Detect(b.Context(), text); found != nil {
						b.Fatal(len(found))
					}
				}
			})
		}
	}
}

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		rules(b)
	}
}

// TestTranscripts reports the findings in real sessions, by rule, without the found text.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	shared := os.Getenv("CTXLEDGER_SHARED")
	if shared == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("CTXLEDGER_SHARED is not set")
		}
		t.Skip("CTXLEDGER_SHARED is not set")
	}
	files, err := filepath.Glob(filepath.Join(shared, "transcripts", "*", "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	r, bytes, found := rules(t), 0, map[string]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		bytes += len(text)
		for line := range strings.Lines(string(text)) {
			guard, err := redact.New(r.Detect(t.Context(), line)...)
			if err != nil {
				t.Fatal(err)
			}
			for _, hit := range guard.Check(line) {
				found[hit.PolicyRef]++
			}
		}
	}
	t.Logf("%d files, %d bytes: %v", len(files), bytes, found)
}
