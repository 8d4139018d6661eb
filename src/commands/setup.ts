/** What `enable` and `disable` have in common: which agents, the change shown, one question, the change made. */
import { existsSync, readFileSync } from 'node:fs';
import { applyEdits, modify } from 'jsonc-parser';
import type { Agent, Scope } from '../agents/contract.ts';
import { agentNamed, agents } from '../agents/index.ts';
import { replaceConfig } from '../config/files.ts';
import { nearest } from '../lib/nearest.ts';
import { applySetup, type Plan, planSetup, programAt } from '../setup/setup.ts';
import { flagText, type Io, UsageError, type Words } from './command.ts';
import { distFolder, type Folders, foldersOf } from './place.ts';
import { problemText } from './text.ts';

export async function setUp(action: 'enable' | 'disable', words: Words, io: Io): Promise<number> {
  const scope = scopeOf(words);
  const chosen = agentsOf(words, io);
  const folders = foldersOf(words, io);
  const json = words.flags['--json'] !== undefined;
  const plans: { agent: Agent; plan: Plan }[] = [];
  let failed = false;
  for (const agent of chosen) {
    const planned = planSetup({
      agent,
      scope,
      action,
      places: { home: io.home, project: io.cwd, env: io.env },
      platform: io.platform,
      program: programAt(distFolder(), process.execPath, io.env),
      folders,
      provider: flagText(words, '--provider'),
    });
    if (planned.ok) plans.push({ agent, plan: planned.plan });
    else {
      failed = true;
      io.err(problemText(planned.problem));
    }
  }
  const config = action === 'enable' ? configChange(words, folders) : undefined;
  const changes = plans.some(({ plan }) => plan.changed) || config !== undefined;
  if (json) {
    const rows = plans.map(({ agent, plan }) => ({
      agent: agent.id,
      file: plan.file,
      changed: plan.changed,
      events: plan.events,
      diff: plan.diff,
    }));
    io.out(
      `${JSON.stringify({ v: 1, action, dryRun: words.flags['--dry-run'] !== undefined, plans: rows }, null, 2)}\n`,
    );
  } else {
    for (const { plan } of plans) io.out(plan.diff);
    if (config) io.out(`${config.file}: ${config.says}\n`);
  }
  if (words.flags['--dry-run']) return failed ? 1 : 0;
  if (changes && !words.flags['--yes'] && !json) {
    if (!io.isTerminal) throw new UsageError('No TTY detected. Use --yes to run non-interactively.');
    const answer = await io.ask('Change this? [y/N] ');
    if (!/^y(es)?$/i.test(answer.trim())) {
      io.out('Nothing was changed.\n');
      return 0;
    }
  }
  for (const { agent, plan } of plans) {
    const applied = applySetup(plan);
    if (!applied.ok) {
      failed = true;
      io.err(problemText(applied.problem));
    } else if (!json) {
      io.out(said(action, agent, plan, folders));
    }
  }
  if (config && !failed) config.write();
  if (action === 'enable' && !failed && !json) io.out(whatNext(words, io));
  return failed ? 1 : 0;
}

function scopeOf(words: Words): Scope {
  const given = (['global', 'project', 'local'] as const).filter(scope => words.flags[`--${scope}`]);
  if (given.length > 1) throw new UsageError(`one scope, not ${given.map(scope => `--${scope}`).join(' and ')}`);
  return given[0] ?? 'global';
}

function agentsOf(words: Words, io: Io): Agent[] {
  const named = flagText(words, '--tool');
  if (named === undefined) {
    if (!io.isTerminal) throw new UsageError('No TTY detected. Use --tool to run non-interactively.');
    throw new UsageError(`--tool is missing: ${agents.map(agent => agent.id).join(', ')} or all`);
  }
  if (named === 'all') return [...agents];
  return named.split(',').map(name => {
    const agent = agentNamed(name);
    if (agent) return agent;
    const meant = nearest(
      name,
      agents.flatMap(each => [each.id, ...(each.aliases ?? [])]),
    );
    throw new UsageError(
      `unknown agent ${name}${meant ? `; did you mean ${meant}?` : `; known: ${agents.map(each => each.id).join(', ')}`}`,
    );
  });
}

/** `--endpoint` and `--provider` are written only where the file does not say already. */
function configChange(words: Words, folders: Folders): { file: string; says: string; write(): void } | undefined {
  const endpoint = flagText(words, '--endpoint');
  if (endpoint === undefined) return undefined;
  if (!URL.canParse(endpoint))
    throw new UsageError(`--endpoint takes a URL such as http://127.0.0.1:4318, not ${endpoint}`);
  const file = folders.config.globalFile;
  const before = existsSync(file) ? readFileSync(file, 'utf8') : '{}\n';
  const formattingOptions = { insertSpaces: true, tabSize: 2 };
  let text = before;
  for (const [path, value] of [
    [['provider'], flagText(words, '--provider') ?? 'otlp'],
    [['otlp', 'endpoint'], endpoint],
  ] as const) {
    text = applyEdits(text, modify(text, [...path], value, { formattingOptions }));
  }
  if (text === before) return undefined;
  return {
    file,
    says: `otlp.endpoint = ${endpoint}`,
    write: () => replaceConfig(file, text.endsWith('\n') ? text : `${text}\n`),
  };
}

function said(action: 'enable' | 'disable', agent: Agent, plan: Plan, folders: Folders): string {
  if (!plan.changed) return `${agent.title}: nothing to change in ${plan.file}\n`;
  if (action === 'disable') return `Disabled. ${plan.file}\n`;
  return `Enabled. Hook: ${plan.file}, Config: ${folders.config.globalFile}\n`;
}

function whatNext(words: Words, io: Io): string {
  const { config } = foldersOf(words, io);
  const endpoint = config.values['otlp.endpoint'];
  const where = endpoint === undefined && config.values.provider === undefined;
  return where
    ? `  next: say where data goes, for example otel-hooks enable --tool ${flagText(words, '--tool')} --endpoint http://127.0.0.1:4318\n        until then sessions are kept in the journal: otel-hooks show\n`
    : '  next: start a new session of the agent, then otel-hooks status\n';
}
