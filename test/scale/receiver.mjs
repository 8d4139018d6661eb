/**
 * An OTLP receiver in a process of its own: `node receiver.mjs FILE LONGEST_DELAY_MS SEED`. Each request is in the file
 * before it is answered, as `<signal> <bytes>\n<body>`; answers take a moment, so that a sender that is killed is often
 * killed while it waits. Prints its port.
 */
import { openSync, writeSync } from 'node:fs';
import { createServer } from 'node:http';
import { gunzipSync } from 'node:zlib';

const [file = '', longest = '0', seed = '1'] = process.argv.slice(2);
const log = openSync(file, 'a');
let state = Number(seed);

const server = createServer((request, response) => {
  const parts = [];
  request.on('data', part => parts.push(part));
  request.on('error', () => undefined);
  request.on('end', () => {
    const raw = Buffer.concat(parts);
    const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw;
    const signal = request.url?.split('/').at(-1) ?? '';
    writeAll(Buffer.concat([Buffer.from(`${signal} ${body.length}\n`), body]));
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    setTimeout(() => response.writeHead(200).end(), (state / 2 ** 31) * Number(longest));
  });
});
server.listen(0, '127.0.0.1', () => console.log(server.address()?.port));
// Nobody is left to ask us when the test is gone.
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));

function writeAll(bytes) {
  for (let at = 0; at < bytes.length; ) at += writeSync(log, bytes, at);
}
