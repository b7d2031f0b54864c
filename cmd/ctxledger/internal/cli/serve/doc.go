// Package serve has the commands that run servers: demo, up, serve and project. The command token
// makes the tokens that the pages of serve ask for.
package serve
