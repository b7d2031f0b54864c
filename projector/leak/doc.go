// Package leak finds withheld values that come back after their redaction.
//
// [Values] holds the keyed fingerprints of the values that each tenant withholds, and never a
// value. [Values.Find] looks for the values in the payload, the subject and the headers of
// messages. Find also decodes escapes, percent encoding and base64. A message with such a value
// becomes a refused event, in which the value is masked.
package leak
