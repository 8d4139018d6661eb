/**
 * Builds what the package ships.
 *
 *   dist/otel-hooks.cjs   the bin: CommonJS, small, because every hook pays for loading it
 *   dist/run-hook.cjs     the program of `run-hook`: an agent waits for it before a guarded action
 *   dist/cli.js, chunks/  the commands, each loaded when it is called
 *   dist/import-process.js a further process of `import`
 *   dist/deliver.js       the process that hooks start: takes the lock, then loads chunks/kicked-program-<hash>.js, one file
 *                         named by its contents, so that an upgrade cannot mix two versions under it
 *   dist/short.cjs        `status --short`, which prompts of shells run
 *   dist/index.js, .cjs   the library, and `otel-hooks/sdk` as sdk.js, .cjs: small files over library.js, .cjs, with
 *                         source maps and declarations (types/) for ESM and CommonJS
 *   dist/prices.cjs       prices of models, loaded with the first response that has tokens
 *   dist/re2.cjs          the engine for users' own patterns, loaded with the first pattern
 *   dist/sql.cjs, sql-wasm.wasm  the engine of `query`, as its package has them
 *   dist/page.json        the page of `otel-hooks view`: its HTML, script and style as texts
 *   dist/otel-hooks.1     the man page; npm links it with the program
 *   dist/samples.json     the agents' payloads that `conformance` replays
 *   dist/THIRD-PARTY-LICENSES.txt
 *   dist/sbom.cdx.json    the bill of materials (CycloneDX): the packages that are bundled, as npm knows them
 *
 * Everything is bundled. The tarball has no dependencies, so npm installs no second copy of OpenTelemetry in an
 * application and prints no peer warning. esbuild's own record names the packages whose licence texts are included.
 *
 * A file with unchanged content is not written, and a changed file is replaced atomically, so that a hook or a test
 * never reads an incomplete file during the build.
 */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import * as esbuild from 'esbuild';
import { minify } from 'terser';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'dist');
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** Licences whose only condition is that copies include their text. */
const allowedLicences = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'BlueOak-1.0.0', 'ISC', 'MIT'];

const common = {
  absWorkingDir: root,
  bundle: true,
  write: false,
  metafile: true,
  platform: 'node',
  target: 'node20',
  // Uses ESM sources only: a CommonJS copy of a package would be bundled completely, and needs `require`, which ESM
  // lacks.
  mainFields: ['module', 'main'],
  conditions: ['module', 'import'],
  // The package's ESM build, which its package.json offers only to browsers.
  alias: { yaml: './node_modules/yaml/browser/index.js' },
  define: {
    __VERSION__: JSON.stringify(manifest.version),
    __RE2__: JSON.stringify(['./re2.cjs', '../re2.cjs']),
    __PRICES__: JSON.stringify(['./prices.cjs', '../prices.cjs']),
    __SQL__: JSON.stringify(['./sql.cjs', '../sql.cjs']),
    __PAGE__: JSON.stringify(['./page.json', '../page.json']),
    __SAMPLES__: JSON.stringify(['./samples.json', '../samples.json']),
  },
  // Names stay, so that a stack trace in a bug report is readable; only the bin is minified completely.
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none',
  charset: 'utf8',
  logLevel: 'warning',
};

/** Leaves out the tables of the Hook Interchange Format, which agents name by a dynamic import: only commands load them. */
const withoutInterchange = {
  name: 'without-interchange',
  setup(build) {
    build.onLoad({ filter: /[\\/]src[\\/]agents[\\/][^\\/]+[\\/]interchange\.ts$/ }, () => ({
      contents: `throw new Error('the commands alone convert hooks');`,
    }));
  },
};

/** The MCP server needs no JSON Schema validator, and that of the SDK is large and CommonJS. */
const withoutValidator = {
  name: 'without-validator',
  setup(build) {
    build.onResolve({ filter: /[\\/]ajv-provider\.js$/ }, () => ({ path: join(root, 'src/mcp/no-validator.ts') }));
  },
};

/**
 * The price list and the engine are separate files beside the library too; the bundler of an application follows the
 * imports.
 */
const contained = {
  name: 'contained',
  setup(build) {
    const paths = { '@pydantic/genai-prices': './prices.cjs', re2js: './re2.cjs' };
    build.onResolve({ filter: /^(@pydantic\/genai-prices|re2js)$/ }, args => ({
      path: paths[args.path],
      external: true,
    }));
  },
};

/** The CommonJS copy of the file that loads the packages of an SDK. */
const withRequire = {
  name: 'with-require',
  setup(build) {
    build.onLoad({ filter: /[\\/]sdk-packages\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8')
        .replaceAll('await import(', 'require(')
        .replace(/\basync |\bawait /g, ''),
      loader: 'ts',
    }));
  },
};

/** A relative import of a declaration. */
const RELATIVE = /((?:\bfrom|\bimport)[\s(]*["']\.[^"']+)\.js(["'])/g;

const URL_OF_FILE = "const __url = require('node:url').pathToFileURL(__filename).href;";

/** Commands are loaded when they run, so the table loads none of them. */
const withoutCommands = {
  name: 'without-commands',
  setup(build) {
    build.onResolve({ filter: /^\.\/[\w-]+\.ts$/ }, ({ kind, path }) =>
      kind === 'dynamic-import' ? { path, external: true } : undefined,
    );
  },
};

const bundles = [
  {
    entryPoints: { 'otel-hooks': 'src/bin.ts' },
    outExtension: { '.js': '.cjs' },
    format: 'cjs',
    minify: true,
    plugins: [
      stays({ 'src/cli.ts': './cli.js', 'src/run-hook/program.ts': './run-hook.cjs', 'src/short.ts': './short.cjs' }),
    ],
  },
  {
    entryPoints: { 'run-hook': 'src/run-hook/program.ts' },
    outExtension: { '.js': '.cjs' },
    format: 'cjs',
    minify: true,
  },
  { entryPoints: { short: 'src/short.ts' }, outExtension: { '.js': '.cjs' }, format: 'cjs', minify: true },
  {
    entryPoints: { cli: 'src/cli.ts', 'import-process': 'src/import-process.ts' },
    format: 'esm',
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
    external: ['./deliver.js', '../deliver.js'],
    plugins: [withoutValidator],
  },
  {
    entryPoints: { 'kicked-program': 'src/deliver/kicked-program.ts' },
    format: 'esm',
    entryNames: 'chunks/[name]-[hash]',
    plugins: [withoutInterchange],
  },
  // Built after the previous bundle, whose name it contains.
  {
    entryPoints: { deliver: 'src/kicked.ts' },
    format: 'esm',
    plugins: [stays({ 'src/deliver/kicked-program.ts': programPath })],
  },
  ...libraryIn('esm'),
  ...libraryIn('cjs'),
  { entryPoints: { re2: 're2js' }, outExtension: { '.js': '.cjs' }, format: 'cjs', minify: true },
  { entryPoints: { prices: '@pydantic/genai-prices' }, outExtension: { '.js': '.cjs' }, format: 'cjs', minify: true },
];

const outputs = new Map();
const inputs = new Set();
for (const bundle of bundles) {
  const result = await esbuild.build({ ...common, ...bundle, outdir: 'dist' });
  for (const file of result.outputFiles) outputs.set(relative(dist, file.path), file.contents);
  for (const [path, input] of Object.entries(result.metafile.inputs)) {
    if (input.format === 'cjs') fail(`${path} is CommonJS; bundle the package's ESM build instead`);
    inputs.add(path);
  }
}
outputs.set('otel-hooks.cjs', await inlined(outputs.get('otel-hooks.cjs')));
for (const [name, file] of [
  ['sql.cjs', 'sql-wasm.js'],
  ['sql-wasm.wasm', 'sql-wasm.wasm'],
]) {
  inputs.add(`node_modules/sql.js/dist/${file}`);
  outputs.set(name, readFileSync(join(root, 'node_modules/sql.js/dist', file)));
}
outputs.set('samples.json', samples());
outputs.set('page.json', await page());
for (const [name, text] of declarations()) outputs.set(join('types', name), text);
const bundled = packagesOf(inputs);
outputs.set('THIRD-PARTY-LICENSES.txt', licences(bundled));
outputs.set('sbom.cdx.json', sbom(bundled));
outputs.set('otel-hooks.1', Buffer.from(await manPage()));
replaceFolder(dist, outputs, name => (name === 'otel-hooks.cjs' ? 0o755 : 0o644));

/**
 * The bin with functions inlined where they are called once: in a hook, compiling a function costs more than running
 * it.
 */
async function inlined(contents) {
  const { code } = await minify(new TextDecoder().decode(contents), {
    ecma: 2020,
    toplevel: true,
    compress: { passes: 4, pure_getters: true, unsafe: true },
    format: { comments: false, shebang: true },
  });
  return new TextEncoder().encode(code);
}

/**
 * Builds the bundles of the library in one format. An entry contains only code that no other entry needs; all other
 * code is in one shared file, because two copies of it in a process would be two bridges. Line breaks are kept, so that
 * an error in an application shows a line of code and not the whole file.
 */
function libraryIn(format) {
  const extension = format === 'esm' ? '.js' : '.cjs';
  const settings = { format, minifyWhitespace: false, sourcemap: 'linked', outExtension: { '.js': extension } };
  const shared = new Set();
  const entry = name => ({
    ...settings,
    entryPoints: { [name]: `src/${name}.ts` },
    external: ['@opentelemetry/*'],
    plugins: [sharesWith(`./library${extension}`, shared), ...(format === 'cjs' ? [withRequire] : [])],
  });
  return [
    entry('index'),
    entry('sdk'),
    {
      ...settings,
      entryPoints: { library: 'shared-by-the-entries' },
      plugins: [withoutInterchange, allOf(shared), contained],
      ...(format === 'cjs'
        ? { define: { ...common.define, 'import.meta.url': '__url' }, banner: { js: URL_OF_FILE } }
        : {}),
    },
  ];
}

/** Points the imports of an entry at the shared file, and collects them. */
function sharesWith(path, shared) {
  const own = ['src/index.ts', 'src/sdk.ts', 'src/library/agent-telemetry.ts', 'src/library/sdk-packages.ts'];
  return {
    name: 'shares-with',
    setup(build) {
      build.onResolve({ filter: /^\.{1,2}\// }, args => {
        const source = relative(root, resolve(args.resolveDir, args.path)).replaceAll('\\', '/');
        if (own.includes(source)) return undefined;
        shared.add(source);
        return { path, external: true, sideEffects: false };
      });
    },
  };
}

/** The entry of the shared file: the exports of all files that the entries import. */
function allOf(shared) {
  return {
    name: 'all-of',
    setup(build) {
      build.onResolve({ filter: /^shared-by-the-entries$/ }, () => ({ path: 'library', namespace: 'shared' }));
      build.onLoad({ filter: /.*/, namespace: 'shared' }, () => ({
        contents: [...shared]
          .sort()
          .map(source => `export * from './${source}';`)
          .join('\n'),
        resolveDir: root,
        loader: 'ts',
      }));
    },
  };
}

/** Generated from the table of commands, without the modules that a command loads when it runs. */
async function manPage() {
  const folder = mkdtempSync(join(tmpdir(), 'otel-hooks-man-'));
  try {
    const outfile = join(folder, 'man.mjs');
    await esbuild.build({
      ...common,
      write: true,
      metafile: false,
      outfile,
      format: 'esm',
      stdin: {
        contents: `import { manPage } from './src/commands/man-page.ts';
          import { commands } from './src/commands/registry.ts';
          export default manPage(commands);`,
        resolveDir: root,
      },
      plugins: [withoutInterchange, withoutCommands],
    });
    return (await import(pathToFileURL(outfile).href)).default;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The samples by agent and file, without their expected events. */
function samples() {
  const found = {};
  for (const entry of readdirSync(join(root, 'test/agents'), { recursive: true, withFileTypes: true })) {
    if (!/\.(sample|transcript)$/.test(entry.name)) continue;
    const [head] = readFileSync(join(entry.parentPath, entry.name), 'utf8').split(/^---- /m);
    found[basename(entry.parentPath)] ??= {};
    found[basename(entry.parentPath)][entry.name] = head;
  }
  for (const [agent, files] of Object.entries(found)) found[agent] = Object.fromEntries(Object.entries(files).sort());
  return Buffer.from(JSON.stringify(Object.fromEntries(Object.entries(found).sort())));
}

/**
 * The page of `otel-hooks view`. The server sends its script and style as separate files, because its policy forbids
 * inline ones.
 */
async function page() {
  const result = await esbuild.build({
    ...common,
    entryPoints: { page: 'src/page/main.ts', style: 'src/page/page.css' },
    outdir: 'dist',
    platform: 'browser',
    target: ['es2022', 'chrome123', 'firefox120', 'safari17.5'],
    format: 'iife',
    minify: true,
  });
  for (const path of Object.keys(result.metafile.inputs)) inputs.add(path);
  const textOf = ending => result.outputFiles.find(({ path }) => path.endsWith(ending)).text;
  const html = readFileSync(join(root, 'src/page/index.html'), 'utf8');
  return Buffer.from(JSON.stringify({ html, script: textOf('page.js'), style: textOf('style.css') }));
}

/** The path of the program of the kicked process, relative to dist. */
function programPath() {
  const name = [...outputs.keys()].find(path => /^chunks[/\\]kicked-program-\w+\.js$/.test(path));
  return `./${name.replaceAll('\\', '/')}`;
}

/**
 * Leaves imports of another entry unresolved until run time, beside the bundle. A path may be a function, if it is
 * known only later.
 */
function stays(entries) {
  return {
    name: 'stays',
    setup(build) {
      build.onResolve({ filter: /^\.{1,2}\// }, args => {
        const source = relative(root, resolve(args.resolveDir, args.path)).replace(/\.js$/, '.ts');
        const path = entries[source];
        return path === undefined ? undefined : { path: typeof path === 'function' ? path() : path, external: true };
      });
    },
  };
}

/**
 * Writes the declarations that the entries reach, for ESM and for CommonJS. They must not name a package that an
 * application would have to install.
 */
function declarations() {
  const found = new Map();
  const folder = mkdtempSync(join(tmpdir(), 'otel-hooks-types-'));
  try {
    const compiler = createRequire(import.meta.url).resolve('typescript/package.json');
    const tsc = spawnSync(
      process.execPath,
      [join(dirname(compiler), 'bin', 'tsc'), '-p', join(root, 'tsconfig.types.json'), '--outDir', folder],
      { encoding: 'utf8' },
    );
    if (tsc.status !== 0) fail(`the declarations were not written:\n${tsc.stdout}${tsc.stderr}`);
    const queue = ['index.d.ts', 'sdk.d.ts'];
    for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
      if (found.has(name)) continue;
      const written = readFileSync(join(folder, name), 'utf8');
      // The compiler leaves `.ts` in declarations, but the package has no such files.
      const text = written.replace(/((?:\bfrom|\bimport)[\s(]*["']\.[^"']+)\.ts(["'])/g, '$1.js$2');
      found.set(name, Buffer.from(text));
      found.set(name.replace(/\.d\.ts$/, '.d.cts'), Buffer.from(text.replace(RELATIVE, '$1.cjs$2')));
      const code = text.replace(/\/\*[\s\S]*?\*\//g, '');
      for (const [, from] of code.matchAll(/(?:\bfrom|\bimport)[\s(]*["']([^"']+)["']/g)) {
        if (from.startsWith('node:')) continue;
        if (!from.startsWith('.')) fail(`types/${name} names the package ${from}, which applications need not have`);
        queue.push(join(dirname(name), from.replace(/\.js$/, '.d.ts')));
      }
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  return found;
}

/** Every package with at least one file in a bundle, by name and version. */
function packagesOf(paths) {
  const folders = new Set();
  for (const path of paths) {
    const match = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path);
    if (match !== null) folders.add(join(root, match[1]));
  }
  const packages = [...folders].map(folder => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    return { folder, name, version, license, id: `${name}@${version}` };
  });
  return packages.sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** The licence of each of them. */
function licences(bundled) {
  const packages = new Map();
  for (const { folder, id, name, version, license } of bundled) {
    if (!allowedLicences.includes(license))
      fail(`${id} is bundled, and its licence ${license} is not one that we accept`);
    const texts = readdirSync(folder)
      .filter(file => /^(licen[cs]e|copying|notice)/i.test(file))
      .sort();
    if (!texts.some(file => /^(licen[cs]e|copying)/i.test(file))) fail(`${id} is bundled but has no licence text`);
    packages.set(
      `${name} ${version} (${license})`,
      texts.map(file => readFileSync(join(folder, file), 'utf8').trim()).join('\n\n'),
    );
  }
  // Packages of one project share one text; it is printed once, below all their names.
  const byText = new Map();
  for (const [title, text] of packages) {
    byText.set(text, [...(byText.get(text) ?? []), title]);
  }
  const line = '-'.repeat(80);
  const sections = [...byText].map(([text, titles]) => `${line}\n${titles.join('\n')}\n${line}\n\n${text}\n`);
  return Buffer.from(`otel-hooks ${manifest.version} contains code of these packages.\n\n${sections.join('\n')}`);
}

/**
 * npm's own bill of materials, reduced to the bundled packages: the lock file has hundreds of packages that only build
 * and test. Fields that change with each run are removed, so that the same sources give the same bytes.
 */
function sbom(bundled) {
  const words = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'];
  const done = spawnSync('npm', words, { cwd: root, encoding: 'utf8', shell: process.platform === 'win32' });
  if (done.status !== 0) fail(`npm made no bill of materials:\n${done.stderr}${done.error ?? ''}`);
  const { $schema, bomFormat, specVersion, metadata, components, dependencies } = JSON.parse(done.stdout);
  const ids = new Set(bundled.map(({ id }) => id));
  const inside = components.filter(each => ids.has(`${each.name}@${each.version}`));
  for (const id of ids)
    if (!inside.some(each => `${each.name}@${each.version}` === id)) fail(`${id} is bundled, and npm does not know it`);
  const refs = new Set(inside.map(each => each['bom-ref']));
  // npm lists all of them as development dependencies, but each of them is a part of the bundle.
  const parts = inside.map(({ properties, ...each }) => ({ ...each, scope: 'required' }));
  const own = { ...metadata.component, name: manifest.name };
  const among = dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter(each => refs.has(each)) }));
  const bill = {
    ...{ $schema, bomFormat, specVersion, version: 1 },
    metadata: { lifecycles: [{ phase: 'build' }], tools: [{ vendor: 'npm', name: 'cli' }], component: own },
    components: parts,
    dependencies: [{ ref: own['bom-ref'], dependsOn: [...refs] }, ...among],
  };
  return Buffer.from(`${JSON.stringify(bill, null, 2)}\n`);
}

function replaceFolder(folder, files, modeOf) {
  for (const [name, content] of files) replaceFile(join(folder, name), content, modeOf(name));
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(name.parentPath, name.name);
    if (name.isFile() && !files.has(relative(folder, path))) rmSync(path, { force: true });
  }
}

function replaceFile(path, content, mode) {
  if (existsSync(path) && readFileSync(path).equals(content)) {
    chmodSync(path, mode);
    return;
  }
  mkdirSync(dirname(path), { recursive: true });
  const beside = `${path}.${process.pid}`;
  writeFileSync(beside, content, { mode });
  chmodSync(beside, mode);
  renameSync(beside, path);
}

function fail(why) {
  console.error(`build: ${why}`);
  process.exit(1);
}
