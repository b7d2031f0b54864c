// Package serve has the commands that run servers: demo, up, serve and project.
package serve
