// Package projectortest has the events that tests of the projector's packages publish.
package projectortest
