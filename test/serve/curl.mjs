#!/usr/bin/env node
/**
 * The options of curl that docs/serve.md uses, for machines without curl: `-H`, `-d`, `--data-binary @-`,
 * `--fail-with-body`, `-s`. An option that it does not know is an error, so that the page cannot use more than is
 * tried.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  options: {
    header: { type: 'string', short: 'H', multiple: true, default: [] },
    data: { type: 'string', short: 'd' },
    'data-binary': { type: 'string' },
    'fail-with-body': { type: 'boolean', default: false },
    silent: { type: 'boolean', short: 's' },
  },
  allowPositionals: true,
});
const given = values['data-binary'];
// curl takes line ends out of `-d` only when it reads a file.
const body = given === '@-' ? readFileSync(0) : (given ?? values.data);
const headers = values.header.map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]);
const answer = await fetch(positionals[0], { method: body === undefined ? 'GET' : 'POST', headers, body });
process.stdout.write(Buffer.from(await answer.arrayBuffer()));
if (values['fail-with-body'] && !answer.ok) process.exitCode = 22;
