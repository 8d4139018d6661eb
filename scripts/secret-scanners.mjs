/**
 * node scripts/secret-scanners.mjs: runs Gitleaks and detect-secrets, if they are in PATH, over the table of
 * test/enrich, and prints the rows of docs/secrets.md. One file per sample, in three forms: as it is, in JSON behind an
 * escaped newline, in JSON in JSON.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import * as esbuild from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'secret-scanners-'));
try {
  await main();
} finally {
  rmSync(folder, { recursive: true });
}

async function main() {
  const { samplesOf, negativesOf, withoutSecrets } = await table();
  const secrets = [51, 52, 53].flatMap(seed => samplesOf(seed));
  const others = negativesOf(54, 6);
  const forms = {
    'as it is': text => `${text}\n`,
    'in JSON': text => `${JSON.stringify({ out: `line\n${text}\nline` })}\n`,
    'in JSON in JSON': text => `${JSON.stringify({ out: JSON.stringify({ in: `line\n${text}\nline` }) })}\n`,
  };
  const ours = place =>
    new Set(place.samples.filter(each => withoutSecrets(each.text) !== each.text).map(each => each.file));
  const tools = [
    ['otel-hooks', ours],
    ['Gitleaks', gitleaks],
    ['detect-secrets', detectSecrets],
  ];
  console.log('| form | tool | found, recall | taken beside, precision |\n| --- | --- | --- | --- |');
  const share = (part, whole) => `${((part / whole) * 100).toFixed(1)} %`;
  for (const [form, encode] of Object.entries(forms)) {
    for (const [name, find] of tools) {
      const good = find(written('good', secrets, encode));
      const bad = find(written('bad', others, encode));
      if (good === undefined || bad === undefined) continue;
      const found = `${good.size} of ${secrets.length}, ${share(good.size, secrets.length)}`;
      const beside = `${bad.size} of ${others.length}, ${share(good.size, good.size + bad.size)}`;
      console.log(`| ${form} | ${name} | ${found} | ${beside} |`);
    }
  }
}

async function table() {
  const entry = join(folder, 'table.ts');
  const from = path => JSON.stringify(join(root, path));
  writeFileSync(
    entry,
    `export * from ${from('test/enrich/secret-samples.ts')};\nexport * from ${from('test/enrich/secret-negatives.ts')};\nexport * from ${from('src/enrich/secrets.ts')};\n`,
  );
  const outfile = join(folder, 'table.mjs');
  await esbuild.build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'warning',
  });
  return import(pathToFileURL(outfile).href);
}

function written(name, samples, encode) {
  const place = { folder: join(folder, name), samples: [] };
  rmSync(place.folder, { recursive: true, force: true });
  mkdirSync(place.folder);
  for (const [i, { text }] of samples.entries()) {
    const file = `${i}.txt`;
    const encoded = encode(text);
    writeFileSync(join(place.folder, file), encoded);
    place.samples.push({ file, text: encoded });
  }
  return place;
}

function gitleaks(place) {
  const report = join(folder, 'report.json');
  const words = [
    'dir',
    place.folder,
    '--no-banner',
    '--exit-code',
    '0',
    '--report-format',
    'json',
    '--report-path',
    report,
  ];
  if (spawnSync('gitleaks', words, { stdio: 'ignore' }).status !== 0) return undefined;
  return new Set(JSON.parse(readFileSync(report, 'utf8')).map(({ File }) => basename(File)));
}

function detectSecrets(place) {
  try {
    const report = execFileSync('detect-secrets', ['scan', '--all-files', '--no-verify', '.'], {
      cwd: place.folder,
      encoding: 'utf8',
      maxBuffer: 1e9,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return new Set(Object.keys(JSON.parse(report).results).map(path => basename(path)));
  } catch {
    return undefined;
  }
}
