package migrate

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A definition is a view that the database has. A file of views/ is one; a file of
// checks/ is two, check_x_of and check_x.
type definition struct {
	name  string
	text  string // the statement without the signature; {database} is the place of the name
	needs []string
	// signature is the columns and comments of the header, empty without one. The server does not plan
	// a view whose columns it is told, which takes most of the time of a migration.
	signature string
	// digest covers the text and the digests of all needed objects. The server keeps the
	// columns that a view reads, and binds views with parameters by name: a view is made again
	// after a change of these.
	digest string
}

// ownDatabase is the placeholder for the ledger's database in a definition. The server does not
// complete the name of a view with parameters, and would search it in the database of the
// asking user.
const ownDatabase = "{database}"

const createView = "CREATE OR REPLACE VIEW "

// statement returns the statement that makes the view. The digest does not cover the signature: the
// text decides on the columns, and comments can change alone.
func (d definition) statement() string {
	rest := strings.TrimPrefix(d.text, createView+d.name)
	return createView + d.name + d.signature + rest
}

// readDefinitions reads the files of views/ and checks/.
func (r *release) readDefinitions(sql fs.FS) error {
	ofTenant, err := fs.ReadFile(sql, "of_tenant.sql")
	if err != nil {
		return err
	}
	ofAll, err := fs.ReadFile(sql, "of_all.sql")
	if err != nil {
		return err
	}
	condition := strings.Join(Split(string(ofTenant)), "")
	found := make(map[string]definition)
	headers := make(map[string]string)
	err = eachFile(sql, "views", func(name, text string) error {
		one, err := single(text, createView+name+" AS")
		found[name], headers[name] = definition{name: name, text: one}, text
		return err
	})
	if err != nil {
		return err
	}
	err = eachFile(sql, "checks", func(name, text string) error {
		name = "check_" + name
		one, err := single(text, createView+name+"_of AS")
		found[name+"_of"] = definition{name: name + "_of", text: strings.ReplaceAll(one, "{of_tenant}", condition)}
		all := strings.ReplaceAll(strings.Join(Split(string(ofAll)), ""), "{check}", name)
		found[name], headers[name] = definition{name: name, text: all}, text
		return err
	})
	if err != nil {
		return err
	}
	if err := r.order(found); err != nil {
		return err
	}
	return r.readViews(sql, headers)
}

// order sorts the definitions by their needs, and adds up their digests.
func (r *release) order(found map[string]definition) error {
	digests := make(map[string]string)
	for _, t := range r.tables {
		digests[t.name] = digestOf(t.statement)
	}
	waiting := slices.SortedFunc(maps.Values(found), func(a, b definition) int { return cmp.Compare(a.name, b.name) })
	for i := range waiting {
		d := &waiting[i]
		for _, name := range relationsIn(d.text) {
			_, view := found[name]
			if _, table := digests[name]; !table && !view {
				return fmt.Errorf("%s reads %s, which is neither in tables/ nor in views/", d.name, name)
			}
			d.needs = append(d.needs, name)
		}
	}
	for len(waiting) > 0 {
		var later []definition
		for _, d := range waiting {
			parts := []string{d.text}
			for _, name := range d.needs {
				parts = append(parts, digests[name])
			}
			if slices.Contains(parts, "") {
				later = append(later, d)
				continue
			}
			d.digest = digestOf(parts...)
			digests[d.name] = d.digest
			r.definitions = append(r.definitions, d)
		}
		if len(later) == len(waiting) {
			return fmt.Errorf("%s needs itself", later[0].name)
		}
		waiting = later
	}
	return nil
}

func digestOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

var (
	quotes   = regexp.MustCompile(`'(?:\\.|[^'\\])*'`)
	readFrom = regexp.MustCompile(`\b(FROM|ARRAY JOIN|JOIN)\s+(?:\{database\}\.)?([a-z_]\w*)`)
	named    = regexp.MustCompile(`\b(\w+)\s+AS\s+\(\s*(?:SELECT|WITH)\b`)
)

// relationsIn returns the tables and views that a statement reads, by name. Names that the text
// defines, WITH name AS (SELECT …), do not count.
func relationsIn(text string) []string {
	text = quotes.ReplaceAllString(text, "''")
	own := make(map[string]bool)
	for _, m := range named.FindAllStringSubmatch(text, -1) {
		own[m[1]] = true
	}
	var names []string
	for _, m := range readFrom.FindAllStringSubmatch(text, -1) {
		if m[1] != "ARRAY JOIN" && !own[m[2]] {
			names = append(names, m[2])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// CheckStatement returns the statement of a check of sql/checks, by the name of its file. The statement
// has the parameter tenant.
func CheckStatement(name string) (string, bool) {
	return ViewStatement("check_" + name + "_of")
}

// ViewStatement returns the statement of a view of sql/views or sql/checks.
func ViewStatement(name string) (string, bool) {
	for _, d := range current().definitions {
		if d.name == name {
			return strings.TrimSpace(strings.TrimPrefix(d.text, createView+name+" AS")), true
		}
	}
	return "", false
}
