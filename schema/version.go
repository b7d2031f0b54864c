package schema

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// An upcaster turns the data of one version of a type into the next one's. It
// is a pure function of the bytes: the same data gives the same bytes on every
// machine and for ever, because tables are rebuilt from streams that hold both
// versions. It invents nothing: what the older version did not say stays
// absent. It does not change its argument.
type upcaster func(data []byte) ([]byte, error)

// A revision is one version of one type.
type revision struct {
	kind    Type
	version int
}

// versions says which versions of the types a reader understands. A type is
// at version 1 unless current says otherwise; every older version must have an
// upcaster to the next.
//
// Additive changes stay inside a version: released/ holds the schemas as they
// were released, and a test refuses what is not additive. A change that is
// not makes a version:
//
//  1. write the upcaster in upcast_<object>.go and enter it in upcasters under
//     the version that it reads;
//  2. enter the new version in current and change the Go type, from which the
//     schema is generated;
//  3. keep the golden event of the old version as testdata/upcast/<type>.v1.json
//     and what it becomes as <type>.v2.json; TestUpcast holds them together;
//  4. release the new schemas below released/v2 and leave released/v1 alone.
//
// Writers write the current version only. Stored events keep their bytes,
// digests and types: upcasting is a matter of reading. TestUpcast works the
// first such step, for a version 2 that does not exist.
type versions struct {
	current   map[Type]int
	upcasters map[revision]upcaster
}

// contract is what this package reads: version 1 of everything.
var contract versions

// of returns the current version of t.
func (v versions) of(t Type) int { return max(1, v.current[t]) }

// parse splits a CloudEvents type attribute into the type and its version. It
// refuses versions that are newer than the current one, since nobody can read
// them yet; for a type that is not known that is every version but the first.
func (v versions) parse(s string) (Type, int, error) {
	name, ours := strings.CutPrefix(s, cloudEventsPrefix)
	if name, ok := strings.CutSuffix(name, ".v1"); ours && ok && name != "" {
		return Type(name), 1, nil
	}
	if dot := strings.LastIndex(name, ".v"); ours && dot > 0 {
		kind := Type(name[:dot])
		n, err := strconv.Atoi(name[dot+2:])
		if err == nil && n > 1 && n <= v.of(kind) && strconv.Itoa(n) == name[dot+2:] {
			return kind, n, nil
		}
	}
	return "", 0, fmt.Errorf("type %q is not of the form dev.ctxledger.<event_type>.v1", s)
}

var errNoUpcaster = errors.New("no way from this version to the current one")

// upcast brings data of the given version to the current one, a version at a
// time. Data of the current version comes back as it is. Upcasters see valid
// JSON only.
func (v versions) upcast(kind Type, version int, data []byte) ([]byte, error) {
	if version < v.of(kind) {
		var valid jsontext.Value
		if err := json.Unmarshal(data, &valid); err != nil {
			return nil, err
		}
	}
	for ; version < v.of(kind); version++ {
		up := v.upcasters[revision{kind, version}]
		if up == nil {
			return nil, errNoUpcaster
		}
		var err error
		if data, err = up(data); err != nil {
			return nil, fmt.Errorf("read version %d of %s: %w", version, kind, err)
		}
	}
	return data, nil
}
