// Package jsonscan reads members of JSON records faster than by reflection.
//
// A decoder has checked the text: [Lines] checks a line, and [Decode] takes a value
// that is known to be valid. A [Cursor] then walks over the value without a second check.
package jsonscan
