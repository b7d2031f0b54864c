package texts

import (
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/ctxledger/ctxledger/projector/streamio"
	"github.com/ctxledger/ctxledger/schema"
)

// Name names the text of a tenant. The zero Name names nothing.
type Name struct {
	Tenant string // as [schema.TenantOf] returns it
	Digest string // see [schema.Key.Digest]
}

// NameOf returns the name of the text that a fact of a tenant refers to, the zero Name for another
// reference.
func NameOf(tenant string, ref schema.Ref) Name {
	digest := ref.TextDigest()
	if digest == "" {
		return Name{}
	}
	return Name{schema.TenantOf(tenant), digest}
}

// IsZero reports whether n names nothing.
func (n Name) IsZero() bool { return n == Name{} }

// String returns the name of the object.
func (n Name) String() string { return url.PathEscape(n.Tenant) + "/" + n.Digest }

const (
	infoPrefix  = "$O." + streamio.TextsBucket + ".M."
	chunkPrefix = "$O." + streamio.TextsBucket + ".C."
)

// subject is the subject of the object's information.
func (n Name) subject() string {
	return infoPrefix + base64.URLEncoding.EncodeToString([]byte(n.String()))
}

// nameIn returns the name in the subject of an information. An object that another program put into the
// bucket has none.
func nameIn(subject string) (Name, bool) {
	text, err := base64.URLEncoding.DecodeString(strings.TrimPrefix(subject, infoPrefix))
	if err != nil {
		return Name{}, false
	}
	escaped, digest, ok := strings.Cut(string(text), "/")
	tenant, err := url.PathUnescape(escaped)
	n := Name{tenant, digest}
	return n, ok && err == nil && digest != "" && n.String() == string(text)
}
