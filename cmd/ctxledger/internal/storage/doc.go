// Package storage reports the bytes that both sides of an installation take, how fast they grow,
// and when a limit is reached. [Estimate] is the pure forecast; [ReadStreams] and [OfLedger] read the
// two sides; [Report] is the answer for people and programs.
package storage
