// validate.mjs DIR FILE… reads AsyncAPI documents with the official parser,
// installed below DIR, and prints a line for each: "ok" and what it holds, or
// "refused" and the parser's first error.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const [dir, ...files] = process.argv.slice(2);
const { Parser } = createRequire(join(dir, 'package.json'))('@asyncapi/parser');
for (const file of files) {
  const { document, diagnostics } = await new Parser().parse(readFileSync(file, 'utf8'));
  const error = diagnostics.find((d) => d.severity === 0);
  if (error || !document) console.log(`refused ${error?.code} at /${error?.path.join('/')}: ${error?.message.split('\n')[0]}`);
  else console.log(`ok ${document.channels().all().length} channels, ${document.messages().all().length} messages`);
}
