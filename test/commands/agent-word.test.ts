import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { ranIn } from './ran.ts';

const home = mkdtempSync(join(tmpdir(), 'otel-hooks-agent-word-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

it.each([['tail'], ['export'], ['import', '--all'], ['enable', '--yes'], ['status'], ['doctor', '--offline']])(
  '%s suggests the agent that was meant',
  async (...words) => {
    const { code, err } = await ranIn(home, [...words, '--tool', 'claude-cod']);
    expect(code).toBe(2);
    expect(err).toContain('unknown agent claude-cod; did you mean claude-code?');
  },
);
