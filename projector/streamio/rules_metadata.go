package streamio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ctxledger/ctxledger/ledger"
)

// The metadata of a stream lists, under RulesKey, the versions of its rules. Each entry holds a
// version and the first sequence of that version, such as
//
//	4@1        a stream that was created with version 4
//	4@18231    an older stream: version 4 applies from sequence 18231 on
//
// Spaces separate several entries. Before the first entry [ledger.EnvelopeRules] apply. Only
// [EnsureRules] writes an entry, under the lease and above the last commit. No sequence is
// therefore ever projected by two versions.
//
// The metadata can be edited or lost. The table commits records the rules of each projected
// range. If the two contradict each other, commits is right.
const RulesKey = "ctxledger_rules"

var (
	// ErrNewerRules means that a newer ctxledger has changed the rules of a stream. Nothing is
	// projected, because this program would project by older rules.
	ErrNewerRules = errors.New("newer_rules: a newer ctxledger has changed the rules of the projection: run that version")

	ErrNoRules = errors.New("the stream's metadata and commits name no rules of the projection: run `ctxledger migrate`")
)

// rules are the versions of a stream's rules, in the order of the stream. With the zero value
// [ledger.EnvelopeRules] apply to the whole stream.
type rules []rulesFrom

// rulesFrom is a version of the rules with its first sequence.
type rulesFrom struct {
	version ledger.Rules
	From    uint64
}

// At returns the version that applies at a sequence.
func (r rules) At(sequence uint64) ledger.Rules {
	for _, of := range slices.Backward(r) {
		if of.From <= sequence {
			return of.version
		}
	}
	return ledger.EnvelopeRules
}

// Newest returns the version of the last entry.
func (r rules) Newest() ledger.Rules {
	if len(r) == 0 {
		return ledger.EnvelopeRules
	}
	return r[len(r)-1].version
}

func (r rules) String() string {
	entries := make([]string, len(r))
	for i, of := range r {
		entries[i] = fmt.Sprintf("%d@%d", of.version, of.From)
	}
	return strings.Join(entries, " ")
}

// parseRules parses the format of String. Versions and sequences must ascend.
func parseRules(text string) (rules, error) {
	var r rules
	for entry := range strings.FieldsSeq(text) {
		version, from, _ := strings.Cut(entry, "@")
		v, versionErr := strconv.ParseUint(version, 10, 32)
		seq, fromErr := strconv.ParseUint(from, 10, 64)
		of := rulesFrom{ledger.Rules(v), seq}
		if versionErr != nil || fromErr != nil || of.version <= r.Newest() || len(r) > 0 && of.From <= r[len(r)-1].From {
			return nil, fmt.Errorf("rules %q: want <version>@<first sequence>, both ascending", text)
		}
		r = append(r, of)
	}
	return r, nil
}

// NewRules returns the rules of a new stream.
func NewRules() rules { return rules{{ledger.NewestRules, 1}} }

// contradiction describes a commit that was not projected by r, or returns "".
func (r rules) contradiction(recorded []ledger.RecordedRules) string {
	for _, c := range recorded {
		for _, sequence := range []uint64{c.Projected, c.Last} {
			if said := r.At(sequence); sequence > 0 && said != c.Rules {
				return fmt.Sprintf("sequence %d was projected by version %d, not %d", sequence, c.Rules, said)
			}
		}
	}
	return ""
}

// rulesOfCommits returns the rules by which the commits of a stream were made.
func rulesOfCommits(recorded []ledger.RecordedRules) rules {
	var r rules
	for _, c := range recorded {
		if c.Rules > ledger.EnvelopeRules {
			r = append(r, rulesFrom{c.Rules, c.First})
		}
	}
	slices.SortFunc(r, func(a, b rulesFrom) int { return cmp.Compare(a.version, b.version) })
	return r
}

// CommittedRules reads the rules by which the commits of each stream were made.
type CommittedRules interface {
	RecordedRules(ctx context.Context, incarnations []uuid.UUID) (map[uuid.UUID][]ledger.RecordedRules, error)
}

// rulesOf returns the rules of a stream, from its metadata and its commits. The error is
// ErrNewerRules or ErrNoRules.
func rulesOf(config jetstream.StreamConfig, recorded []ledger.RecordedRules, log *slog.Logger) (rules, error) {
	text := config.Metadata[RulesKey]
	said, wrong := parseRules(text)
	fault := said.contradiction(recorded)
	switch {
	case wrong != nil:
		fault = wrong.Error()
	case text == "":
		fault = "it is missing"
	}
	if fault != "" {
		said = rulesOfCommits(recorded)
	}
	switch {
	case said.Newest() > ledger.NewestRules:
		return nil, fmt.Errorf("%w: stream %s has version %d, this program knows %d", ErrNewerRules, config.Name, said.Newest(), ledger.NewestRules)
	case fault != "" && len(said) == 0:
		return nil, fmt.Errorf("stream %s: %w", config.Name, ErrNoRules)
	case fault != "":
		log.Warn("the stream's metadata does not match the rules in the commits, so the commits count: run `ctxledger migrate` to repair the metadata",
			"event", "rules_contradicted", "stream", config.Name, "key", RulesKey, "found", fault, "rules", said.String())
	}
	return said, nil
}
