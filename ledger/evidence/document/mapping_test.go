package document

import (
	"regexp"
	"strings"
	"testing"

	"github.com/ctxledger/ctxledger/schema"
)

// TestEveryWordIsMapped: each word of our vocabularies has an Agent Evidence word.
func TestEveryWordIsMapped(t *testing.T) {
	t.Parallel()
	theirs := map[string]bool{"duplicate": true, "low_relevance": true, "stale": true, "unsafe": true, "private": true, "license_restricted": true, "contradicted": true, "unavailable": true, "out_of_scope": true, "custom": true}
	for _, word := range []schema.OmissionReason{
		schema.OmitBudgetLimit, schema.OmitLowRelevance, schema.OmitDuplicate, schema.OmitStale, schema.OmitPolicyBlocked, schema.OmitPermissionMissing,
		schema.OmitUnsupportedMedia, schema.OmitTooLarge, schema.OmitSensitive, schema.OmitSupersededBySummary, schema.OmitNotVisibleToTarget, schema.OmitCustom,
	} {
		if _, ok := omissionReasons[word]; !ok || !theirs[omissionReason(word)] {
			t.Errorf("omission %s is %q", word, omissionReason(word))
		}
	}
	if len(omissionReasons) != 12 || omissionReason("newer") != "newer" {
		t.Errorf("%d omission reasons", len(omissionReasons))
	}
	closed := map[string]bool{"remove": true, "mask": true, "hash": true, "tokenize": true, "summarize": true, "withhold": true, "expire": true}
	for _, word := range []schema.RedactionState{
		schema.RedactionNone, schema.RedactionMasked, schema.RedactionRemoved, schema.RedactionSummarized, schema.RedactionEncryptedRef, schema.RedactionPolicyBlocked, schema.RedactionUnknown,
	} {
		if _, ok := redactionKinds[word]; !ok || !closed[redactionKind(word)] {
			t.Errorf("redaction %s is %q", word, redactionKind(word))
		}
	}
	if !closed[redactionKind("newer")] {
		t.Error("a redaction state that is new")
	}
	reasons := map[string]bool{"unknown": true, "unavailable": true, "redacted": true, "expired": true, "not_applicable": true, "not_collected": true}
	for _, word := range []schema.MissingStatus{schema.StatusOpen, schema.StatusRequested, schema.StatusWaiting, schema.StatusDeclined, schema.StatusBlocked, schema.StatusExpired} {
		if _, ok := missingReasons[word]; !ok || !reasons[missingReason(word)] {
			t.Errorf("gap %s is %q", word, missingReason(word))
		}
	}
}

// TestEvidenceIDs: ids of different kinds, and ids that are too long, never collide.
func TestEvidenceIDs(t *testing.T) {
	t.Parallel()
	pattern := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:-]{0,255}$`)
	long := strings.Repeat("/é", 200)
	seen := make(map[string]string)
	for _, k := range []kind{itemKind, sourceKind, runKind} {
		for _, id := range []string{"a", "a b", "x-a", "/", "", long, long + "a", "sha256:00"} {
			mapped := evidenceID(k, id)
			if !pattern.MatchString(mapped) {
				t.Errorf("%s %q: %q", k, id, mapped)
			}
			if other, have := seen[mapped]; have {
				t.Errorf("%s %q and %s are both %q", k, id, other, mapped)
			}
			seen[mapped] = string(k) + " " + id
			if back, err := schema.ParseEvidenceID(mapped); err == nil && back != string(k)+":"+id {
				t.Errorf("%q goes back to %q", mapped, back)
			}
		}
	}
}
