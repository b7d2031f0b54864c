package connect

import "strconv"

// readerVariable is where Grafana finds the password of a server that was named.
const readerVariable = "CTXLEDGER_READER_PASSWORD"

// Grafana's provisioning file, of which JSON is one form.
type (
	grafanaFile struct {
		APIVersion  int             `json:"apiVersion"`
		Datasources []grafanaSource `json:"datasources"`
	}
	grafanaSource struct {
		Name   string         `json:"name"`
		UID    string         `json:"uid"`
		Type   string         `json:"type"`
		Access string         `json:"access"`
		JSON   grafanaOptions `json:"jsonData"`
		Secure grafanaSecrets `json:"secureJsonData"`
	}
	grafanaOptions struct {
		Host     string `json:"host"`
		Port     int    `json:"port"`
		Protocol string `json:"protocol"`
		Username string `json:"username"`
		Database string `json:"defaultDatabase"`
	}
	grafanaSecrets struct {
		Password string `json:"password"`
	}
)

// provisioning is the data source with the server's native address.
func provisioning(c *clickhousePlace) grafanaFile {
	port, _ := strconv.Atoi(c.Port())
	return grafanaFile{APIVersion: 1, Datasources: []grafanaSource{{
		Name: "ctxledger", UID: "ctxledger", Type: "grafana-clickhouse-datasource", Access: "proxy",
		JSON:   grafanaOptions{Host: c.Host(), Port: port, Protocol: "native", Username: c.User, Database: c.Database},
		Secure: grafanaSecrets{Password: c.GrafanaPassword()},
	}}}
}

// GrafanaPassword is the password for a provisioning file: how Grafana finds it, or on
// request the password itself.
func (c *clickhousePlace) GrafanaPassword() string {
	switch {
	case c.Password != "":
		return c.Password
	case c.PasswordFile != "":
		return "$__file{" + c.PasswordFile + "}"
	}
	return "$__env{" + readerVariable + "}"
}
