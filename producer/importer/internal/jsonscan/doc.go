// Package jsonscan reads members of JSON records faster than by reflection.
//
// A [Cursor] walks over a value. In a line it also checks the syntax, see [Lines]. [Decode] takes a
// value that a decoder has checked, and the cursor only searches for the ends of the parts.
package jsonscan
