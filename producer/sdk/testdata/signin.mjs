// Signs in to NATS and records one fact. Arguments: the configuration as JSON. It prints the first error,
// or the number of stored events, and every line of the log. With "again", it records another fact
// when its input has ended.
import { connect } from "@ctxledger/sdk";

const lines = [];
try {
  const { again, ...config } = JSON.parse(process.argv[2]);
  const client = await connect({ ...config, runtime: "ts", log: (line) => lines.push(line) });
  client.run({ session: "s" });
  for (const end = Date.now() + 20_000; client.stored === 0 && client.error === null && Date.now() < end; ) await client.flush(20);
  if (again) {
    console.log("stored");
    for await (const _ of process.stdin);
    client.run({ session: "s" });
    await client.flush(20_000);
  }
  const error = client.error?.message ?? "";
  await client.close(50);
  console.log(JSON.stringify({ stored: client.stored, error, lines }));
} catch (error) {
  console.log(JSON.stringify({ stored: 0, error: error.message, lines: [...lines, `${error.stack} ${JSON.stringify(error)}`] }));
}
process.exit(0);
