// Package ui writes for people and programs, and reads their input:
//
//	Table, WriteRows   tables that fit a terminal; rows as table, JSON, CSV or a list
//	Safe, Guard        text from outside, without characters that steer a terminal
//	Wrap, Fit, Reflow  text for a width
//	ReadLines          lines of input up to a limit
//	Bar                the progress of long work
package ui
