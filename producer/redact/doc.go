// Package redact keeps withheld values out of everything that is published
// (invariant 8: redacted stays redacted).
//
// A [Guard] holds the values in memory, each with the policy that withholds it
// and the reason. [Guard.Mask] and [Guard.MaskJSON] put [redacted:<policy ref>]
// in their place and say where they were found. The hits of a guard that is
// [Guard.Fingerprinted] carry keyed fingerprints, by which whoever holds the
// tenant key recognises a value that comes back from elsewhere.
//
// # What is found
//
//	verbatim   the bytes
//	folded     any case, by Unicode's simple folding
//	base64     standard and URL alphabet, wherever the value begins within the
//	           encoded bytes; from 6 characters on
//	hex        upper or lower case; from values of 3 bytes on
//	url        percent-encoded bytes, as many as may be; "+" for a space
//	entity     character references of HTML
//	escaped    backslash escapes, as in a JSON document inside of a string
//	number     in JSON: a number that is the value as it stands; from 8 digits on
//
// And of a value with 8 letters and digits or more, in squeezed text:
//
//	separated  with other characters put between its letters or left out: white
//	           space, punctuation, invisible ones; in full-width letters
//	reversed   backwards
//	base32     wherever the value begins within the encoded bytes
//	split      in JSON: over strings that follow one another, by fields or by
//	           elements of a list, numbers and names between them left out
//
// These hold for base64 and hex, too: wrapped over lines, in groups, with colons,
// split, and of the value in upper or lower case. Percent encoding, escapes and
// entities are taken off up to three layers deep, also on top of other forms but
// split. A value of any length is guarded; very short ones mask a lot.
//
// Not found: a value put in other words or other letters that look alike, with a
// string of another text between its parts, encoded twice in base64 or base64 of
// UTF-16, compressed, encrypted. Detecting secrets that nobody named is the job
// of package secrets.
//
// A number of fewer than 8 digits is not looked at: it cannot be told from a
// count of tokens, which a PIN of four digits equals once in a while. As text,
// such a PIN is found.
//
// In the real sessions of shared/transcripts, 4.5 MB, 1,000 values of realistic
// kinds are found nowhere by chance, in no form (TestTranscripts).
//
// # What it costs
//
// Nearly every text holds nothing, and a sieve says so in one pass over the
// bytes and without allocating: it squeezes the text (letters and digits alone,
// in one case) and asks a bit set for each stretch of 8 bytes whether a pattern
// in any form may end there. Where it is not sure, every string is searched in
// every reading, which is some 20 times slower; the answers are the search's.
// BenchmarkMaskDocument compares the two. For documents of 1 KB and of 70 KB,
// which is a turn's, and for 10 values and 1,000 alike, the sieve reads some
// 250 MB/s, and half of that where it is not known that they are JSON.
//
// # Where vectors differ
//
// shared/vectors/tinyagents.json T049 and T050 show [REDACTED]; here the policy
// is named, as the design asks. As there, masking twice changes nothing, also
// when a value is part of a placeholder.
//
// The package is pure: no I/O, no clock, no shared state. No error, hit or
// printed form holds any part of a value.
package redact
