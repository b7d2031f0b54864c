package secrets

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/viper"
	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/detect"

	"github.com/ctxledger/ctxledger/producer/redact"
)

// PolicyPrefix stands in front of the rule's id in the policy ref of a value.
const PolicyPrefix = "policy:secret-detection/"

// Reason is that of every value.
const Reason = "secret"

// shortest is how many bytes a secret has at least; to withhold less would mask
// a lot that is none.
const shortest = 8

// layers is how many layers of base64, hex and percent encoding are taken off
// before the rules are asked again.
const layers = 2

// Rules finds secrets by gitleaks' default rules. It is a producer.Detector:
// immutable, safe for concurrent use, and keeps no text. Make it with [New].
type Rules struct{ detector *detect.Detector }

// New compiles the rules, which takes some 50 ms and 20 MB. An error means that
// this version of gitleaks does not read its own rules.
func New() (*Rules, error) {
	// Gitleaks' own constructor reads its rules into viper's global instance,
	// which belongs to the host.
	rules := viper.New()
	rules.SetConfigType("toml")
	if err := rules.ReadConfig(strings.NewReader(config.DefaultConfig)); err != nil {
		return nil, fmt.Errorf("read the rules: %w", err)
	}
	var raw config.ViperConfig
	if err := rules.Unmarshal(&raw); err != nil {
		return nil, fmt.Errorf("read the rules: %w", err)
	}
	compiled, err := raw.Translate()
	if err != nil {
		return nil, fmt.Errorf("compile the rules: %w", err)
	}
	detector := detect.NewDetector(compiled)
	detector.MaxDecodeDepth = layers
	detector.IgnoreGitleaksAllow = true // a text does not decide over itself
	return &Rules{detector}, nil
}

// Detect returns the secrets in a text, each once, under the policy of the rule
// that found it. One that ctx cut short may have missed some.
func (r *Rules) Detect(ctx context.Context, text string) []redact.Value {
	var values []redact.Value
	seen := make(map[string]bool)
	for _, f := range r.detector.DetectContext(ctx, detect.Fragment{Raw: text}) {
		if len(f.Secret) >= shortest && !seen[f.Secret] {
			seen[f.Secret] = true
			values = append(values, redact.Withhold(f.Secret, PolicyPrefix+f.RuleID, Reason))
		}
	}
	return values
}
