/** The commands of the Hook Interchange Format with their help texts. */
import { exampleAgent } from '../agents/index.ts';
import type { Command } from './command.ts';
import { runHook } from './run-hook.ts';

export const commandsOfInterchange: Command[] = [
  {
    name: 'convert',
    summary: 'convert hooks of one agent for another, by the Hook Interchange Format, and list the losses',
    usage:
      'otel-hooks convert [--from PROVIDER] --to PROVIDER|all [--out FOLDER [--merge|--remove|--force] [--dry-run]] [--scripts keep|absolute|copy] [--strict] [--plain] [--soften] [--registry V] [--products] [--layout NAME] [--format json|yaml] FILE',
    notes: [
      'PROVIDER is an agent or hook-interchange, the format itself; without --from the file decides. Prints the file of the',
      'other provider, and the losses on standard error; - is standard input. The result is read again and compared. Exits 1',
      'when no hook could be converted, or a hook that blocks is lost. docs/hook-interchange.md has the rules.',
    ],
    flags: [
      {
        name: '--from',
        value: 'PROVIDER',
        summary: 'the provider of the file, if its content and its path do not show it',
      },
      {
        name: '--to',
        value: 'PROVIDER',
        summary: `an agent, such as ${exampleAgent.id}, hook-interchange, or all for every agent`,
      },
      {
        name: '--out',
        value: 'FOLDER',
        summary: 'write into this project, at the path that the agent reads; existing files are not replaced',
      },
      { name: '--merge', summary: 'with --out: add the hooks to existing files, whose other bytes stay' },
      { name: '--remove', summary: 'with --out: remove the hooks of this conversion from the files again' },
      {
        name: '--force',
        summary: 'with --out: replace the hooks of an existing file, name those that go, and keep the rest of it',
      },
      { name: '--dry-run', summary: 'with --out: show the changes of the files, and make none' },
      {
        name: '--scripts',
        value: 'HOW',
        summary: 'paths of scripts: keep them, write them absolute, or copy the scripts into the project',
      },
      { name: '--strict', summary: 'exit 1 for every warning' },
      { name: '--plain', summary: 'write commands as they are: agents ignore answers in another dialect' },
      { name: '--soften', summary: 'replace exit code 2 by 1 in hooks that must not block' },
      {
        name: '--registry',
        value: 'V',
        summary: 'names and abilities of the registry 2026.03 or 2026.04 (without it: of the products of today)',
      },
      { name: '--products', summary: 'with --registry: use known abilities of the products of today, too' },
      { name: '--layout', value: 'NAME', summary: 'another form of the file, if there are several' },
      { name: '--format', value: 'NAME', summary: 'with --to hook-interchange: json or yaml' },
    ],
    words: ['FILE'],
    mostWords: 1,
    printsDocument: true,
    example: `otel-hooks convert --to ${exampleAgent.id} hook.json`,
    load: () => import('./convert.ts'),
  },
  runHook,
  {
    name: 'capabilities',
    summary: 'list the capabilities that the hooks of a manifest need, or those that agents support',
    usage:
      'otel-hooks capabilities [--from PROVIDER] [--to PROVIDER] [--policy FILE [--managed]] [--registry V] [--products] [--layout NAME] [FILE]',
    notes: [
      "FILE is a manifest of the Hook Interchange Format, or an agent's own: without --to it is tried with every agent. Without",
      'FILE: the tables of the format, or those of one agent. Exits 1 when a hook that blocks is lost, or a policy refuses one.',
    ],
    flags: [
      {
        name: '--from',
        value: 'PROVIDER',
        summary: 'the provider of the file, if its content and its path do not show it',
      },
      {
        name: '--to',
        value: 'PROVIDER',
        summary: `only this agent, such as ${exampleAgent.id}, with all losses`,
      },
      { name: '--policy', value: 'FILE', summary: 'check whether this policy allows the hooks' },
      { name: '--managed', summary: 'with --policy: the hooks count as managed ones' },
      {
        name: '--registry',
        value: 'V',
        summary: 'names and abilities of the registry 2026.03 or 2026.04 (without it: of the products of today)',
      },
      { name: '--products', summary: 'with --registry or without FILE: use known abilities of the products of today' },
      { name: '--layout', value: 'NAME', summary: 'with --to: another form of the file' },
    ],
    words: ['FILE'],
    mostWords: 1,
    example: `otel-hooks capabilities --to ${exampleAgent.id} hook.json`,
    load: () => import('./capabilities.ts'),
  },
  {
    name: 'hook-test',
    summary: 'run the hooks of a manifest with sample events of each agent, and show what the agent would do',
    usage: 'otel-hooks hook-test [--from PROVIDER] [--to PROVIDER] [--shell COMMAND] [--json] MANIFEST',
    notes: [
      'Runs every command of MANIFEST as the agent would run it, in the folder of MANIFEST, once for each sample event of the agent',
      'that it listens to, and reads its exit code and output as the agent does. Commands run for real: try them on a copy of what',
      'they change. Exits 1 when a hook fails. MANIFEST can be the file of an agent, too. docs/write-a-hook.md has an example.',
    ],
    flags: [
      {
        name: '--from',
        value: 'PROVIDER',
        summary: 'the provider of the file, if its content and its path do not show it',
      },
      { name: '--to', value: 'PROVIDER', summary: `only this agent, such as ${exampleAgent.id}` },
      { name: '--shell', value: 'COMMAND', summary: 'the command in the samples of shell tools; it is not run' },
    ],
    words: ['MANIFEST'],
    mostWords: 1,
    example: `otel-hooks hook-test --to ${exampleAgent.id} hook.json`,
    load: () => import('./hook-test.ts'),
  },
];
