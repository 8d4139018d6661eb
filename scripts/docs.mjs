/**
 * Writes docs/configuration.md from the settings themselves.
 *
 *   node scripts/docs.mjs            write
 *   node scripts/docs.mjs --check    exit 1 if the file is stale
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

/** The sources are TypeScript, so they are bundled into a file that Node can read. */
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

Settings have layers. A later layer overrides the earlier ones:

1. defaults
2. the global file: \`$XDG_CONFIG_HOME/otel-hooks/config.json\` (usually \`~/.config/otel-hooks/config.json\`), or the file that
   \`OTEL_HOOKS_CONFIG\` or \`--config\` names
3. the project's file: the nearest \`.otel-hooks.json\` from the session's folder upwards, below the home folder
4. the environment: the variables of the OpenTelemetry specification, then those of otel-hooks; an empty value means unset
5. flags

\`otel-hooks config\` shows each value and its origin; \`otel-hooks config set KEY VALUE\` changes one key of the global file
([the shell](shell.md#one-key-of-the-configuration)). A session keeps the configuration of its first event. A delivery that
a hook started does not use its own environment.

The smallest useful file:

\`\`\`json
{ "provider": "otlp", "otlp": { "endpoint": "http://127.0.0.1:4318" } }
\`\`\`

A dot in a key below is one level of the file: \`otlp.endpoint\` is \`{ "otlp": { "endpoint": ... } }\`. Comments and trailing
commas are allowed. \`otel-hooks config --schema\` prints the JSON Schema, which editors use to complete and check the file.
A relative path starts at the folder of its file; in a variable it starts at the session's folder, and in \`OTEL_HOOKS_CONFIG\` at the folder of the hook or command.

A bad value is ignored alone: the value of the layer below is used, and the problem names file, line and key.
When a mistake (a file that is not JSON, an unknown provider, a missing setting) leaves a session without any destination,
the session is kept on the machine. It is sent completely after the correction: with its next hook, or with \`otel-hooks deliver\`.

## What a project's file may do

A project's file comes with a clone. It may reduce what leaves and add labels: the keys marked *project* below, and \`enabled\` only as
\`false\`. Everything else in it needs \`otel-hooks config --trust\`, which accepts the current text; a change
must be accepted again.

Headers, client certificates and their keys are sent only to hosts that the same layer or a lower one named. An endpoint of a
higher layer does not get them; it gets the credentials of its own layer.

## Which source is trusted

| source | may set | reason |
| --- | --- | --- |
| flags and the global file | every key | they belong to the user |
| the file that \`OTEL_HOOKS_CONFIG\` names | every key, if the path is absolute and outside the project | the settings of an agent in a clone can set variables |
| the variables of a hook | keys with a variable, for the session of that hook only | the settings of a project can set some of them |
| a project's \`.otel-hooks.json\` | the keys marked *project*; every key after \`otel-hooks config --trust\` | the author of a clone is a stranger |
| a file of another user, except root | nothing | any user may write to a shared folder |

## Recipes

A collector with a key, in a file that only you can read:

\`\`\`json
{ "provider": "otlp", "otlp": { "endpoint": "https://collector.example:4318", "headers": "authorization=Bearer abc" } }
\`\`\`

Two destinations at once, each with its own backlog; [providers](providers.md) lists the others:

\`\`\`json
{
  "provider": ["otlp", "langfuse"],
  "otlp": { "endpoint": "http://127.0.0.1:4318" },
  "langfuse": { "public_key": "pk-lf-...", "secret_key": "sk-lf-..." }
}
\`\`\`

Prompts and commands without secrets, everything else by default. A project may reduce this for its own sessions, but not extend it:

\`\`\`json
{ "content": { "prompt": "redacted", "commands": "redacted" } }
\`\`\`

A file that a team commits as \`.otel-hooks.json\`: labels, no content of prompts, and a warning for an expensive session:

\`\`\`json
{
  "service_name": "shop",
  "attributes": { "team": "checkout" },
  "content": { "prompt": "off", "response": "off" },
  "budget": { "session_usd": 5 }
}
\`\`\`

No data of one project, in its own \`.otel-hooks.json\`:

\`\`\`json
{ "enabled": false }
\`\`\`

A CI job without a file: \`OTEL_EXPORTER_OTLP_ENDPOINT\`, \`OTEL_EXPORTER_OTLP_HEADERS\` and \`OTEL_RESOURCE_ATTRIBUTES\` in the job's environment, and
\`otel-hooks deliver --wait 30s\` as its last step, because the machine ends with the job ([CI](ci.md)).

A tenth of the traces, and all metrics and logs:

\`\`\`json
{ "trace": { "sampler": "traceidratio", "sampler_arg": 0.1 } }
\`\`\`

Hashes of content that are equal on all machines of a team:

\`\`\`json
{ "content": { "hash_key": "a long text that only your team knows" } }
\`\`\`

## Settings

*Set by* lists the layers that may set a key: \`file\` is the global file, \`project\` a project's file without consent, \`project, less\` a
project's file that only reduces what leaves. \`otel-hooks config\` shows the layer of each value as its origin.

| key | variable | flag | default | set by | meaning |
| --- | --- | --- | --- | --- | --- |
${keys.map(row).join('\n')}

If only some signals have an endpoint of their own and there is no \`otlp.endpoint\`, the other signals are not sent, and a
problem says so. The specification would send them to \`http://localhost:4318\`; to get this behaviour, name the exporter
(\`OTEL_LOGS_EXPORTER=otlp\`).

These variables name places and are read before any file: \`OTEL_HOOKS_CONFIG\`, \`OTEL_HOOKS_STATE_DIR\`, and
\`XDG_CONFIG_HOME\`, \`XDG_STATE_HOME\`, \`XDG_DATA_HOME\`.

## Variables without effect

A problem names each of these variables and says what to use.

| variable | why | instead |
| --- | --- | --- |
${answeredVariables.map(answeredRow).join('\n')}

Samplers that query a server (\`jaeger_remote\`, \`xray\`), the exporters \`prometheus\`, \`zipkin\` and
\`jaeger\`, and propagators other than \`tracecontext\` have no effect either; the value of the layer below is used.
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
