package schema

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// An upcaster converts the data of one version of a type into the next version. An upcaster is a
// pure function of the bytes: the same data always gives the same bytes on every machine. Tables
// are rebuilt from streams with both versions. An upcaster adds no values: a value that the older
// version did not have stays absent. An upcaster does not change its argument.
type upcaster func(data []byte) ([]byte, error)

// A revision is one version of one type.
type revision struct {
	kind    Type
	version int
}

// versions holds the versions of the types that a reader understands. A type has version 1 unless
// current holds another version. Every older version must have an upcaster to the next version.
//
// Additive changes stay within a version. released/ holds the released schemas, and a test refuses
// changes that are not additive. Any other change needs a new version:
//
//  1. write the upcaster in upcast_<object>.go, and enter it in upcasters under the version that it
//     reads;
//  2. enter the new version in current, and change the Go type, which the schema is generated from;
//  3. keep the golden event of the old version as testdata/upcast/<type>.v1.json, and the converted
//     event as <type>.v2.json; TestUpcast compares them;
//  4. release the new schemas below released/v2, and leave released/v1 unchanged.
//
// Writers write only the current version. Stored events keep their bytes, digests and types. Only
// readers upcast. TestUpcast tests these steps with a version 2 that does not exist.
type versions struct {
	current   map[Type]int
	upcasters map[revision]upcaster
}

// contract holds the versions that this package reads: version 1 of every type.
var contract versions

// of returns the current version of t.
func (v versions) of(t Type) int { return max(1, v.current[t]) }

// parse splits a CloudEvents type attribute into the type and its version. parse refuses versions
// that are newer than the current version. For an unknown type, it refuses every version but 1.
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

var errNoUpcaster = errors.New("no upcaster from this version to the next version")

// upcast converts data of the given version to the current version, one version at a time. Data
// of the current version is returned unchanged. Upcasters receive only valid JSON.
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
