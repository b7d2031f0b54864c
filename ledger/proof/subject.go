package proof

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"
)

// SubjectDigest returns the name that the fact of an erasure has for a data subject of a tenant:
// "hmac-sha256:<name of the ring>:<hex>". Its key derives from the secret of the ring, which no
// rotation of signing keys or tenants' keys changes. The same subject therefore has the same
// digest for ever, and nobody without the ring can test a guess. The ring must have a secret.
func (r Ring) SubjectDigest(tenant, subject string) string {
	mac := hmac.New(sha256.New, derive(r.Secret.bytes(), "erased subject", tenant))
	io.WriteString(mac, subject)
	return digestPrefix + r.Name + ":" + hex.EncodeToString(mac.Sum(nil))
}

// IsSubjectDigest reports whether a name has the form of [Ring.SubjectDigest].
func IsSubjectDigest(name string) bool { return strings.HasPrefix(name, digestPrefix) }

const digestPrefix = "hmac-sha256:"
