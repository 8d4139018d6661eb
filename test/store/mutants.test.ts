import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { afterAll, describe, expect, it } from 'vitest';
import { openStore } from '../../src/store/store.ts';
import { runModel } from './model.ts';
import { type Mutant, mutants } from './mutants.ts';

const folder = mkdtempSync(join(tmpdir(), 'otel-hooks-mutants-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe.each(mutants)('without $without', mutant => {
  it('the model detects the fault', async () => {
    const openMutant = await load(mutant);
    expect(() => runModel(openMutant, mutant.steps)).toThrow(/expected/);
  });

  it('the model finds no fault with it', () => runModel(openStore, mutant.steps));
});

async function load(mutant: Mutant): Promise<typeof openStore> {
  const bundle = await build({
    entryPoints: [fileURLToPath(new URL('../../src/store/store.ts', import.meta.url))],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    plugins: [
      {
        name: 'mutant',
        setup({ onLoad }) {
          onLoad({ filter: /src\/store\// }, ({ path }) => {
            const text = readFileSync(path, 'utf8');
            return { loader: 'ts', contents: basename(path) === mutant.file ? edited(text, mutant) : text };
          });
        },
      },
    ],
  });
  const file = join(folder, `${mutants.indexOf(mutant)}.mjs`);
  writeFileSync(file, bundle.outputFiles[0]?.text ?? '');
  const loaded = (await import(/* @vite-ignore */ pathToFileURL(file).href)) as { openStore: typeof openStore };
  return loaded.openStore;
}

function edited(text: string, { edits, file }: Mutant): string {
  return edits.reduce((result, [from, to]) => {
    const parts = result.split(from);
    if (parts.length !== 2) throw new Error(`${file} has not once: ${from}`);
    return parts.join(to);
  }, text);
}
