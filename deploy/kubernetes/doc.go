// Package kubernetes tests the Helm chart in the folder ctxledger: Helm's own lint, the rendered
// objects against the schemas that Kubernetes publishes, and the rules of the chart. It is a module of
// its own, because Helm brings 120 modules that the product does not need.
package kubernetes
