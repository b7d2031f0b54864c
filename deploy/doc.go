// Package deploy is the configuration of one production node: a NATS server or a cluster of them, a
// ClickHouse server, units of systemd, and containers for both servers and a projector.
//
//	nats/server.conf.tmpl            limits, durability
//	nats/cluster.conf.tmpl           routes between the servers of a cluster
//	nats/accounts.conf.tmpl          permissions to publish and read, by tenant
//	nats/tls.conf                    encryption, to be included by hand
//	clickhouse/config.d/             memory, parts, logs; durability
//	clickhouse/tls.xml               encryption, to be copied into config.d/ by hand
//	clickhouse/users.d/              the writer, the reader
//	clickhouse/users.d/tenants.xml.tmpl   a reader and a definer for each tenant
//	systemd/                         units for the programs, on machines without containers
//	compose/                         images, volumes, health checks
//	cluster/try/                     a cluster with replicas and a script that kills its servers; not run
//
// README.md says what is in embedded/, examples/, kubernetes/ and grafana/. CAPACITY.md says how many
// machines an installation needs, and RUNBOOK.md what to do about an alert.
//
// `ctxledger deploy` prints these files or writes them to a folder, see [Server.Write].
// deploy/embedded runs its ClickHouse with the same files. The tests of this package load all
// files except users.d/production.xml and clickhouse/tls.xml. `clickhouse local` ignores the ports
// and system logs in config.d/production.xml, and has no port with TLS.
//
// No file in nats/ or clickhouse/ holds a password. The servers read hashes from their
// environment:
//
//	nats/, clickhouse/        as printed
//	secrets/nats-server.env   bcrypt hashes, for the NATS server's environment
//	secrets/clickhouse-server.env   SHA-256 hashes, for ClickHouse's environment
//	secrets/nats-admin.env    the address of one user with the password, for the
//	  …                       environment of that user's program; one file each
//
// The hashes are fast ones. Fast hashes are safe for passwords of 192 random bits, which
// [Server.Write] makes. They are not safe for passwords that a person chooses.
package deploy
