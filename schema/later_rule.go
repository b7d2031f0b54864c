package schema

import (
	"bytes"
	"fmt"
	"mime"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/ctxledger/ctxledger/schema/internal/form"
)

// CheckDoor adds the violations of the rules that a ledger has from a position of its stream on, by
// ledger.DoorRules, to those that [ReadMessage] or [ValidateRecorded] found. A place with a violation
// gets no second one. The fact is nil for an unknown type. These rules are:
//
//   - a required text, a reason, a policy, an owner, a reference or a source is not blank
//   - what is removed or blocked by policy has no content in any member
//   - no record is its own source, parent, cause or replacement
//   - source is a URI-reference (RFC 3986)
//   - dataschema is the URI of the event's type and version
//   - subject is the id of the record that the data names
//   - data is JSON in UTF-8
//   - times have the form of RFC 3339
//   - attributes have no non-characters of Unicode
//   - data_base64 has the form of RFC 4648
//   - a fingerprint has its exact form
func CheckDoor(e *Event, fact Fact, found Violations) Violations {
	for _, v := range checkForms(e, fact) {
		if !slices.ContainsFunc(found, func(o *Violation) bool { return o.Pointer == v.Pointer }) {
			found = append(found, v)
		}
	}
	return found
}

func checkForms(e *Event, fact Fact) (found Violations) {
	found = append(found, e.received.refused...)
	found = append(found, e.checkAttributeForms()...)
	if fact == nil {
		return found
	}
	if e.Subject != "" && e.Subject != fact.RecordID() {
		found = append(found, &Violation{CodeIDMismatch, "/subject", quote(e.Subject), "make the subject the id of the record, " + quote(fact.RecordID()) + ", or leave it out"})
	}
	if e.received.maybeBlank {
		found = append(found, blanks(reflect.ValueOf(fact).Elem(), "/data")...)
	}
	return append(found, append(checkOwnIDs(e, fact), checkFactForm(e, fact)...)...)
}

// FormerViolation returns the violation that the rules before ledger.DoorRules find in a form that is
// lawful since, or nil. By these rules the message was no event.
func (e *Event) FormerViolation() *Violation { return e.received.former }

// FormerData returns the only violations that the rules before ledger.KnownRules find in an event whose
// data they could not read, or nil. They could not read a time with a lower-case t or z.
func (e *Event) FormerData() Violations {
	if e.received.formerData == nil {
		return nil
	}
	return append(checkOutside(e, nil), e.received.formerData)
}

// A received is what the text of an event shows and its values do not.
type received struct {
	refused    Violations // by CheckDoor
	former     *Violation // by the rules before
	formerData *Violation // in the data, by the rules before ledger.KnownRules
	foreign    bool       // whether an attribute has other characters than printable ASCII
	maybeBlank bool       // whether a text of the data may be blank, so that a walk has to look
}

// checkAttributeForms checks the forms of attributes.
func (e *Event) checkAttributeForms() (found Violations) {
	refuse := func(name, what, fix string) {
		found = append(found, &Violation{CodeAttribute, "/" + name, what, fix})
	}
	if e.received.foreign {
		for _, a := range e.Attributes() {
			if strings.ContainsFunc(a.Value, form.NonCharacter) {
				refuse(pointerToken(a.Name), "a non-character of Unicode", "leave out U+FFFE, U+FFFF and the other non-characters")
			}
		}
	}
	if !plainURN(e.Source) && !form.URIReference(e.Source) {
		refuse("source", quote(e.Source), "make the source a URI-reference; percent-encode all other characters")
	}
	if e.DataSchema != "" && !e.namesItsSchema() {
		refuse("dataschema", quote(e.DataSchema), "leave it out, or send the absolute URI of this type and version")
	}
	if !isUTF8JSON(e.DataContentType) {
		refuse("datacontenttype", quote(e.DataContentType), "send JSON in UTF-8: application/json")
	}
	if e.CausationID != "" && e.CausationID == e.ID {
		found = append(found, ownViolation("/causationid"))
	}
	return found
}

// namesItsSchema reports whether the dataschema attribute belongs to the type. Of an unknown type it
// must be an absolute URI.
func (e *Event) namesItsSchema() bool {
	if schema, ok := schemas[e.Type]; ok && schema == e.DataSchema {
		return true
	}
	kind, version, err := contract.parse(e.Type)
	if err == nil && kind.Known() {
		return e.DataSchema == "urn:ctxledger:schema:"+string(kind)+":v"+strconv.Itoa(version)
	}
	scheme, rest, _ := strings.Cut(e.DataSchema, ":")
	return form.Scheme(scheme) && rest != "" && form.URIReference(e.DataSchema) && !strings.Contains(e.DataSchema, "#")
}

// schemas are the dataschema attributes of the current versions, by type attribute.
var schemas = func() map[string]string {
	list := make(map[string]string)
	for _, p := range plans {
		list[p.eventType] = p.schema
	}
	return list
}()

// isUTF8JSON reports whether a media type is JSON in UTF-8. No type means JSON.
func isUTF8JSON(contentType string) bool {
	if contentType == "" || contentType == jsonType {
		return true
	}
	_, parameters, err := mime.ParseMediaType(contentType)
	charset, has := parameters["charset"]
	return err == nil && isJSON(contentType) && (!has || strings.EqualFold(charset, "utf-8"))
}

// maybeBlank is a quick test: a text that is not blank usually begins with a letter.
func maybeBlank(s string) bool { return s == "" || s[0] <= ' ' || s[0] >= utf8.RuneSelf }

// speaks reports whether a member must not be blank where it is present: reasons, owners, references,
// ids and sources.
func speaks(name string) bool {
	for _, suffix := range []string{"_ref", "_refs", "_id", "_ids"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return slices.Contains([]string{
		"reason", "redaction_reason", "policy", "requested_from", "requested_action", "user_summary", "question", "uri", "authority",
		"issuer", "actor", "attached_to", "replaced_by", "offered_by", "offers", "ref", "path", "operation", "target",
	}, name)
}

// blanks finds texts that must speak and are blank. Absent members are no finding; an absent required
// member is found by [Validate].
func blanks(v reflect.Value, path string) (found Violations) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		at := path
		if !f.Anonymous {
			at += "/" + jsonName(f)
		}
		found = append(found, blanksIn(v.Field(i), at, f.Tag.Get("ctx") == "required" || speaks(jsonName(f)))...)
	}
	return found
}

func blanksIn(v reflect.Value, at string, must bool) (found Violations) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type().PkgPath() == reflect.TypeFor[Common]().PkgPath() {
			return blanks(v, at)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return blanksIn(v.Elem(), at, must)
		}
	case reflect.Slice:
		for i := range v.Len() {
			element := v.Index(i)
			path := at + "/" + strconv.Itoa(i)
			if must && element.Kind() == reflect.String && element.Len() == 0 {
				found = append(found, blankViolation(path))
				continue
			}
			found = append(found, blanksIn(element, path, must)...)
		}
	case reflect.String:
		text := v.String()
		if v.Type() == reflect.TypeFor[Ref]() && text != "" {
			text = Ref(text).ID()
		}
		if must && v.Len() > 0 && form.Blank(text) {
			return Violations{blankViolation(at)}
		}
	}
	return found
}

func blankViolation(pointer string) *Violation {
	return &Violation{CodeRequired, pointer, "a blank text", "write a text, or leave the member out where it is optional"}
}

func ownViolation(pointer string) *Violation {
	return &Violation{CodeOwnSource, pointer, "the id of the record itself", "name another record, or leave the member out"}
}

// checkOwnIDs checks that no record is its own source, parent or replacement.
func checkOwnIDs(e *Event, fact Fact) (found Violations) {
	names := func(id string, ref Ref) bool { return id != "" && (ref == Ref(id) || ref.isObject() && ref.ID() == id) }
	own := func(id, pointer string, ref Ref) {
		if names(id, ref) {
			found = append(found, ownViolation(pointer))
		}
	}
	among := func(id, list string, refs []Ref) {
		for i, ref := range refs {
			if names(id, ref) {
				found = append(found, ownViolation(element(list, i)))
			}
		}
	}
	own(e.RunID, "/parentrunid", Ref(e.ParentRunID))
	switch f := fact.(type) {
	case *ScopeOpened:
		own(f.RunID, "/data/parent_run_id", Ref(f.ParentRunID))
	case interface{ item() *Item }:
		i := f.item()
		for n, s := range i.SourceRefs {
			if (s.SourceKind == "" || s.SourceKind == "item") && names(i.ItemID, Ref(s.SourceID)) {
				found = append(found, ownViolation(element("/data/source_refs", n)+"/source_id"))
			}
		}
		own(i.ItemID, "/data/offered_by", i.OfferedBy)
		among(i.ItemID, "/data/offers", i.Offers)
	case *LogAppended:
		own(f.LogItemID, "/data/parent_ref", f.ParentRef)
	case *AssemblyCreated:
		among(f.AssemblyID, "/data/source_item_refs", f.SourceItemRefs)
	case *InjectionRemoved:
		own(f.InjectionID, "/data/replaced_by", f.ReplacedBy)
	case *SummaryCreated:
		among(f.SummaryID, "/data/source_item_refs", f.SourceItemRefs)
	case *SummaryRefreshed:
		among(f.SummaryID, "/data/source_item_refs", f.SourceItemRefs)
	case interface{ compaction() *Compaction }:
		c := f.compaction()
		among(c.SummaryRef.ID(), "/data/source_item_refs", c.SourceItemRefs)
	}
	return found
}

func (i *Item) item() *Item                   { return i }
func (c *Compaction) compaction() *Compaction { return c }

// checkFactForm checks members of single types.
func checkFactForm(e *Event, fact Fact) (found Violations) {
	withheld := func(state RedactionState, pointer string, has bool) {
		if has && (state == RedactionRemoved || state == RedactionPolicyBlocked) {
			found = append(found, &Violation{CodeWithheld, pointer, "content of what is " + string(state), "send it without content"})
		}
	}
	switch f := fact.(type) {
	case interface{ item() *Item }:
		i := f.item()
		withheld(i.RedactionState, "/data/parts", len(i.Parts) > 0)
		withheld(i.RedactionState, "/data/content_ref", i.ContentRef.inline())
	case *ItemRemoved:
		for _, name := range []string{"content", "parts"} {
			withheld(RedactionRemoved, "/data/"+name, hasMember(e.Data, name))
		}
	case *InjectionRemoved:
		withheld(RedactionRemoved, "/data/content", f.Content != "")
	case *AssemblyCreated:
		for i := range f.OrderedBlocks {
			if f.OrderedBlocks[i].Content != "" {
				withheld(f.RedactionState, element("/data/ordered_blocks", i)+"/content", true)
			}
		}
	case *RedactionApplied:
		for i, fp := range f.Fingerprints {
			if fp.KeyID == "" || fp.Length < shortestFingerprinted || !form.LowerHex(fp.PrefixHash, 16) || !form.LowerHex(fp.HMAC, 64) {
				found = append(found, &Violation{CodeRange, element("/data/fingerprints", i), "a fingerprint of another form",
					"send key_id, a length of at least 8 bytes, prefix_hash of 16 and hmac of 64 lower-case hexadecimal digits"})
			}
		}
	}
	return found
}

// hasMember reports whether data has a member of this name at the top level.
func hasMember(data []byte, name string) bool {
	if bytes.IndexByte(data, '\\') < 0 && !bytes.Contains(data, []byte(strconv.Quote(name))) {
		return false // no name is escaped
	}
	var members map[string]jsontext.Value
	if json.Unmarshal(data, &members) != nil {
		return false
	}
	_, has := members[name]
	return has
}

// parseTime reads a time. CheckDoor refuses what package time reads and RFC 3339 has no form for, such
// as an hour of one digit or a comma. Lower-case t and z are lawful since CheckDoor.
func (f *received) parseTime(name, value string) (time.Time, error) {
	if f.former != nil || len(f.refused) > 0 {
		f.forget("/" + name)
	}
	upper := value
	t, err := time.Parse(time.RFC3339Nano, value)
	if err != nil {
		wrong := fmt.Errorf("%s %q: want an RFC 3339 time", name, Clip(value))
		upper = strings.ToUpper(value)
		if t, err = time.Parse(time.RFC3339Nano, upper); err != nil {
			return t, wrong
		}
		f.former = &Violation{Code: CodeAttribute, Pointer: "/" + name, Found: wrong.Error()}
	}
	if !form.RFC3339(upper) {
		f.refused = append(f.refused, &Violation{CodeAttribute, "/" + name, quote(value), "write the time by RFC 3339, such as 2026-01-02T03:04:05.678Z"})
	}
	return t, nil
}

// forget removes what an earlier value of an attribute showed.
func (f *received) forget(pointer string) {
	if f.former != nil && f.former.Pointer == pointer {
		f.former = nil
	}
	f.refused = slices.DeleteFunc(f.refused, func(v *Violation) bool { return v.Pointer == pointer })
}
