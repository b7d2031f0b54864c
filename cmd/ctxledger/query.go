package main

import "github.com/spf13/cobra"

func (a *app) queryCommand() *cobra.Command  { return &cobra.Command{Use: "query"} }
func (a *app) windowCommand() *cobra.Command { return &cobra.Command{Use: "window"} }
func (a *app) demoCommand() *cobra.Command   { return &cobra.Command{Use: "demo"} }
