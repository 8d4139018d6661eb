/**
 * Writes docs/configuration.md from the settings themselves.
 *
 *   node scripts/docs.mjs            write
 *   node scripts/docs.mjs --check    exit 1 when the file is not what would be written
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import * as esbuild from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const file = join(root, 'docs/configuration.md');

const { settings, keys, factsOf, answeredVariables, answerOf, wrapped } = await load();
const text = wrapped(page());

if (!process.argv.includes('--check')) {
  writeFileSync(file, text);
} else if (readFileSync(file, 'utf8') !== text) {
  process.stderr.write('docs/configuration.md is out of date; run `node scripts/docs.mjs`.\n');
  process.exitCode = 1;
}

/** The sources are TypeScript, so they are bundled to where Node can read them. */
async function load() {
  const folder = mkdtempSync(join(tmpdir(), 'otel-hooks-docs-'));
  try {
    const outfile = join(folder, 'settings.mjs');
    await esbuild.build({
      absWorkingDir: root,
      stdin: {
        contents: `
          export * from './src/config/schema.ts';
          export * from './src/config/variables.ts';
          export { wrapped } from './test/docs/wrap.ts';`,
        resolveDir: root,
      },
      bundle: true,
      platform: 'node',
      format: 'esm',
      outfile,
      logLevel: 'warning',
    });
    return await import(pathToFileURL(outfile).href);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function page() {
  return `<!-- Written by scripts/docs.mjs from src/config/schema.ts; edit there. -->

# Configuration

Settings come in layers; a later one overrides the earlier ones:

1. defaults
2. the global file: \`$XDG_CONFIG_HOME/otel-hooks/config.json\` (usually \`~/.config/otel-hooks/config.json\`), or what
   \`OTEL_HOOKS_CONFIG\` or \`--config\` names
3. the project's file: the nearest \`.otel-hooks.json\` from the session's folder upwards, below the home folder
4. the environment: the variables of the OpenTelemetry specification, then those of otel-hooks; empty means unset
5. flags

\`otel-hooks config\` shows what is in force and where each value comes from. A session keeps the configuration of its
first event. A kicked delivery does not read the environment that it happens to run in.

The smallest useful file:

\`\`\`json
{ "provider": "otlp", "otlp": { "endpoint": "http://127.0.0.1:4318" } }
\`\`\`

A dot in a key below is one level of the file: \`otlp.endpoint\` is \`{ "otlp": { "endpoint": ... } }\`. Comments and trailing
commas are allowed. \`otel-hooks config --schema\` prints the JSON Schema, which editors use to complete and check the file.
Relative paths are seen from the file they stand in, in variables from the session's folder; \`OTEL_HOOKS_CONFIG\` from the folder of the hook or command.

A bad value costs that value alone: the one of the layer below is used, and the problem names file, line and key.
A session that begins while a mistake (a file that is not JSON, an unknown provider, a setting that is missing) leaves no destination
at all is kept on the machine, and leaves as a whole once that is corrected: with its next hook, or with \`otel-hooks deliver\`.

## What a project's file may do

It comes with a clone, so it may narrow what leaves and label it: the keys that say *project* below, and \`enabled\` only as
\`false\`. Everything else in it waits for \`otel-hooks config --trust\`, which accepts the file as it stands; when it
changes, it must be accepted again.

Headers, client certificates and their keys go to the hosts that the same layer or a lower one named. An endpoint that a
higher layer sets does not get them, unless that layer brings its own.

## Recipes

A collector that wants a key, with the key in a file that only you can read:

\`\`\`json
{ "provider": "otlp", "otlp": { "endpoint": "https://collector.example:4318", "headers": "authorization=Bearer abc" } }
\`\`\`

Two destinations at once, each with its own backlog; docs/providers.md has the others:

\`\`\`json
{
  "provider": ["otlp", "langfuse"],
  "otlp": { "endpoint": "http://127.0.0.1:4318" },
  "langfuse": { "public_key": "pk-lf-...", "secret_key": "sk-lf-..." }
}
\`\`\`

Prompts and commands without secrets, the rest as it is; a project may take that back for its own sessions, never add to it:

\`\`\`json
{ "content": { "prompt": "redacted", "commands": "redacted" } }
\`\`\`

What a team commits as \`.otel-hooks.json\`: whose sessions these are, nothing of prompts, and a warning when one grows dear:

\`\`\`json
{
  "service_name": "shop",
  "attributes": { "team": "checkout" },
  "content": { "prompt": "off", "response": "off" },
  "budget": { "session_usd": 5 }
}
\`\`\`

One project that is not to be told of at all, in its own \`.otel-hooks.json\`:

\`\`\`json
{ "enabled": false }
\`\`\`

A CI job, without a file: \`OTEL_EXPORTER_OTLP_ENDPOINT\`, \`OTEL_EXPORTER_OTLP_HEADERS\` and \`OTEL_RESOURCE_ATTRIBUTES\` in the job's environment, and
\`otel-hooks deliver --wait 30s\` as its last step, since the machine ends with it.

A tenth of the traces, and all metrics and logs:

\`\`\`json
{ "trace": { "sampler": "traceidratio", "sampler_arg": 0.1 } }
\`\`\`

Hashes of content that can be compared over the machines of a team:

\`\`\`json
{ "content": { "hash_key": "a long text that only your team knows" } }
\`\`\`

## Settings

*Set by* says which layers may: \`file\` is the global one, \`project\` that of a project without consent, \`project, less\` only to let
less out. What is in force came from one of them: \`otel-hooks config\` names it as the value's origin.

| key | variable | flag | default | set by | meaning |
| --- | --- | --- | --- | --- | --- |
${keys.map(row).join('\n')}

If only some signals have an endpoint of their own and there is no \`otlp.endpoint\`, the other signals are not sent, and a
problem says so. The specification would send them to \`http://localhost:4318\`; name the exporter
(\`OTEL_LOGS_EXPORTER=otlp\`) to have that.

Variables that name places are read before any file: \`OTEL_HOOKS_CONFIG\`, \`OTEL_HOOKS_STATE_DIR\`, and
\`XDG_CONFIG_HOME\`, \`XDG_STATE_HOME\`, \`XDG_DATA_HOME\`.

## Variables that are not honoured

They are answered by a problem that names them and says what to use.

| variable | why | instead |
| --- | --- | --- |
${answeredVariables.map(answeredRow).join('\n')}

\`OTEL_EXPORTER_OTLP_PROTOCOL=grpc\`, samplers that ask a server (\`jaeger_remote\`, \`xray\`), the exporters \`prometheus\`, \`zipkin\` and
\`jaeger\`, and propagators other than \`tracecontext\` are answered likewise; the value of the layer below is used.
`;
}

function row(key) {
  const { about, variables = [], flag, default: value, project } = factsOf(key);
  const names = variables.map(name => `\`${name}\``).join(', ');
  const shown = settings[key].default === undefined ? '' : `\`${value}\``;
  const layers = [
    'file',
    ...(Array.isArray(project) ? ['project, less'] : project ? ['project'] : []),
    ...(variables.length > 0 ? ['environment'] : []),
    ...(flag === undefined ? [] : ['flag']),
  ];
  return `| \`${key}\` | ${names} | ${flag === undefined ? '' : `\`${flag}\``} | ${shown} | ${layers.join(', ')} | ${cell(about)} |`;
}

function answeredRow(variable) {
  const { why, instead, fine } = answerOf(variable);
  const but = fine === undefined ? '' : ` (fine: ${fine.map(word => `\`${word}\``).join(', ')})`;
  return `| \`${variable}\`${but} | ${cell(why)} | ${cell(instead)} |`;
}

function cell(text) {
  return text.replaceAll('|', '\\|');
}
