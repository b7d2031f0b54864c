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

// PolicyPrefix is the text before the rule's id in the policy ref of a value.
const PolicyPrefix = "policy:secret-detection/"

// Reason is the reason of every found value.
const Reason = "secret"

// shortest is the smallest length of a secret in bytes. Masking shorter texts would mask
// text that is not secret.
const shortest = 8

// layers is the number of layers of base64, hex and percent encoding that are decoded
// before the rules run again.
const layers = 2

// Rules finds secrets by gitleaks' default rules. Rules is a producer.Detector: immutable,
// safe for concurrent use, and without memory of texts. Make Rules with [New].
type Rules struct{ detector *detect.Detector }

// New compiles the rules. An error means that this version of gitleaks does not read its
// own rules.
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
	detector.IgnoreGitleaksAllow = true // a text must not switch off its own check
	return &Rules{detector}, nil
}

// Detect returns the secrets in a text, each once, under the policy of the rule that found
// it. If ctx ends during the call, Detect may miss some.
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
