// Package frame reads the messages of one direction of a WebSocket (RFC 6455) from a copy of its
// bytes. It answers nothing and changes nothing.
//
//	byte 0   FIN RSV1 RSV2 RSV3 | opcode
//	byte 1   MASK | length: 0–125, or 126 and two bytes, or 127 and eight bytes follow
//	         the key of the mask, four bytes, if MASK is set
//	         the payload
//
// A message is one frame, or a first frame and continuations up to the one with FIN. Control
// frames may come between them; a [Reader] skips their payloads. RSV1 of the first frame means
// that the message is compressed (RFC 7692). [Negotiated] reads what the two sides agreed on.
//
// A Reader takes the bytes in pieces of any size. The messages do not depend on the borders of
// the pieces. Its memory is bounded by [MaxMessageBytes], also for compressed messages.
package frame
