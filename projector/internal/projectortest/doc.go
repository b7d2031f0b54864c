// Package projectortest makes the events that tests of the projector's packages publish.
package projectortest
