// Package jsonscan reads members of JSON records faster than by reflection.
//
// A [Cursor] walks over a value. With syntax it checks the text while it reads, and
// gives up on whatever is rare: then the strict decoder decides, see [ReadLine].
// Without syntax the text is known to be valid.
package jsonscan
