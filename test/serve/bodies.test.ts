import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { Bodies } from '../../src/serve/bodies.ts';

const MB = 1024 * 1024;

it('keeps no part of a body after the body was read, although Node keeps the request of an idle connection', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const heldMb = (): number => {
    collect();
    return process.memoryUsage().arrayBuffers / MB;
  };
  const beforeMb = heldMb();
  const bodies = new Bodies();
  const requests: PassThrough[] = [];
  for (let n = 0; n < 16; n += 1) {
    const request = Object.assign(new PassThrough(), { headers: {} });
    requests.push(request);
    let release = (): void => undefined;
    const sizeBytes = await new Promise<number>(resolve => {
      release = bodies.read(request as unknown as IncomingMessage, 4 * MB, read =>
        resolve('body' in read ? read.body.length : 0),
      );
      for (let part = 0; part < 32; part += 1) request.write(Buffer.alloc(64 * 1024));
      request.end();
    });
    release();
    expect(sizeBytes).toBe(2 * MB);
  }
  expect(bodies.heldBytes).toBe(0);
  expect(heldMb() - beforeMb).toBeLessThan(8);
  expect(requests.length).toBe(16);
});
