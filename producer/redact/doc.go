// Package redact keeps withheld values out of all published data (invariant 8: redacted
// stays redacted).
//
// A [Guard] holds the values in memory, each with the policy that withholds the value and
// the reason. [Guard.Mask] and [Guard.MaskJSON] replace them by [redacted:<policy ref>] and
// return their places as hits. The hits of a [Guard.Fingerprinted] guard have keyed
// fingerprints. With the tenant key, a program recognizes a value by its fingerprint.
//
// # The forms that have a fingerprint
//
// A redaction has fingerprints of the value and of each of these forms of 8 bytes or more, in
// which another producer may send the value:
//
//	in lower and in upper case
//	without line breaks and characters that have no width
//	percent-encoded, as in a query and as in a path
//	base64 with the standard and the URL alphabet, at any position within the encoded bytes
//	hex in lower and in upper case
//	character references of HTML: named where there is a name, all decimal, all hexadecimal
//
// The projector finds these forms. It also decodes escapes of JSON, percent encoding of attributes,
// and the base64 of structured events. It does not find mixed case, separators between the letters,
// partly encoded values, two encodings of one another, and parts of a value.
//
// # The forms that are found
//
//	verbatim   the bytes
//	folded     any case, by Unicode's simple folding
//	base64     standard and URL alphabet, at any position within the encoded
//	           bytes; from 6 characters on
//	hex        upper or lower case; from values of 3 bytes on
//	url        percent-encoded bytes, any number of them; "+" for a space
//	entity     character references of HTML
//	escaped    backslash escapes, as in a JSON document inside of a string
//	number     in JSON: a number that is equal to the value; from 8 digits on
//
// Values with 8 letters and digits or more are also found in these forms, in squeezed text:
//
//	separated  with other characters between its letters: white space,
//	           punctuation, invisible characters; in full-width letters
//	reversed   backwards
//	base32     at any position within the encoded bytes
//	split      in JSON: over strings that follow one another, by fields or by
//	           elements of a list; numbers and names between them are skipped
//
// Base64 and hex are also found wrapped over lines, in groups, with colons, and split. The
// encoded value may be in upper or lower case. Up to three layers of percent encoding,
// escapes and entities are decoded, also around all other forms except split. A value of
// any length is guarded; very short values mask a lot of text.
//
// These forms are not found: other words, other letters of similar shape, double base64,
// base64 of UTF-16, compression and encryption. A split value is not found if a string of
// another text is between its parts. Package secrets detects secrets that are not
// configured.
//
// A number of fewer than 8 digits is not checked, because it can be equal to a count of
// tokens. In text, a PIN of four digits is found.
//
// TestTranscripts checks that real sessions hold no hits by chance.
//
// # The sieve
//
// Most texts hold no value, and a sieve detects this in one pass over the bytes without
// allocating. The sieve squeezes the text to letters and digits in one case. For each run
// of 8 bytes it asks a bit set whether a pattern of any form may end there. If the sieve is
// not sure, every string is searched in every reading, which is much slower. Both give the
// same answers. BenchmarkMaskDocument compares them.
//
// # Differences from the vectors
//
// shared/vectors/tinyagents.json T049 and T050 show [REDACTED]; here the placeholder names
// the policy, as the design requires. As in the vectors, masking twice changes nothing,
// even if a value is part of a placeholder.
//
// The package is pure: no I/O, no clock, no shared state. No error, hit or printed form
// holds any part of a value.
package redact
