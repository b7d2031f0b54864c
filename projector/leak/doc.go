// Package leak finds the values that redactions withhold, where they come back.
//
// [Values] holds the keyed fingerprints of what each tenant withholds, and never a value.
// [Values.Find] looks for them in the payload, the subject and the headers of messages,
// also below escapes, percent encoding and base64. What holds such a value comes back as
// a refused event, in which the value is masked.
package leak
