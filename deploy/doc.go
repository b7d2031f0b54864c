// Package deploy is the configuration of one production node: a NATS server, a
// ClickHouse server, and the containers that run them with a projector.
//
//	nats/server.conf                 limits, durability
//	nats/accounts.conf.tmpl          who may publish and read what, by tenant
//	nats/tls.conf                    encryption, to be taken in by hand
//	clickhouse/config.d/             memory, parts, logs; durability
//	clickhouse/users.d/              the writer, the reader
//	clickhouse/users.d/tenants.xml.tmpl   a reader for each tenant
//	compose/                         images, volumes, health checks
//
// `ctxledger deploy` prints these files or writes them to a folder, see
// [Server.Write]. deploy/embedded runs its ClickHouse on the same ones, and the
// tests of this package load nats/ whole, and clickhouse/ but for
// users.d/production.xml and for what config.d/production.xml says of ports and
// system logs, which `clickhouse local` reads and does not act on.
//
// No file holds a password. The servers get hashes from their environment:
//
//	nats/, clickhouse/        as printed
//	secrets/nats-server.env   bcrypt hashes, for the NATS server's environment
//	secrets/clickhouse-server.env   SHA-256 hashes, for ClickHouse's
//	secrets/nats-admin.env    the address of one user with the password, for the
//	  …                       environment of who is that user; one file each
//
// The hashes are quick ones. That is enough for passwords of 192 random bits,
// which is what [Server.Write] makes, and not for ones that a person thinks of.
package deploy
