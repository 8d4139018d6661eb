import { randomBytes } from 'node:crypto';
import { destinationsInUse } from '../config/destinations.ts';
import { damagedFiles, imbalances, readStatusBooks } from '../deliver/status-books.ts';
import { findingsOfAgents, findingsOfPrograms } from '../doctor/agents.ts';
import { sendTo } from '../doctor/endpoints.ts';
import { type Finding, fine, type Mend, problem, unknown, wordsOfFinding } from '../doctor/finding.ts';
import { findingsOnMachine } from '../doctor/machine.ts';
import { newerAgents } from '../doctor/newer-agents.ts';
import { readBack } from '../doctor/read-back.ts';
import { silentHooks } from '../doctor/silent-hooks.ts';
import { synthetic } from '../doctor/synthetic.ts';
import { asShown } from '../lib/shown.ts';
import { LINE_CLEARED, styled } from '../lib/terminal.ts';
import { merged } from '../problems/problem.ts';
import { type Found, filesText, providersNamed } from '../setup/standing.ts';
import { StateRefused } from '../store/folder.ts';
import { openStore, type Store } from '../store/store.ts';
import { type Io, NoTerminal, type Words } from './command.ts';
import { distFolder, type Folders, foldersOf, proxiesOn } from './place.ts';
import { problemsNow } from './problems-now.ts';
import { hookRunOf, prove } from './proof.ts';
import { agentsNamed, standingsNamed, surroundingsOf } from './setup.ts';
import { problemText, table } from './text.ts';

const PATIENCE_MS = 15_000;

export async function run(words: Words, io: Io): Promise<number> {
  const json = words.flags['--json'] !== undefined;
  const isAgreed = words.flags['--yes'] !== undefined;
  // `--yes` without `--fix` means the repair, too.
  const fixes = isAgreed || words.flags['--fix'] !== undefined;
  const folders = foldersOf(words, io);
  if (fixes && !isAgreed && (json || !io.isTerminal)) {
    throw new NoTerminal('--yes');
  }
  const findings: Finding[] = [];
  const shown = new Set<string>();
  /** The same problem may be found in the configuration and in the problems of sessions. */
  const isNew = (found: Finding): boolean => {
    const key = found.state === 'problem' ? JSON.stringify(found.problem) : '';
    return key === '' || (!shown.has(key) && shown.add(key) !== undefined);
  };
  const show = (all: readonly Finding[]): void => {
    const found = all.filter(isNew);
    findings.push(...found);
    if (!json) for (const each of found) io.out(textOf(each, io));
  };
  const busy = (says: string): void => {
    if (!json && io.isTerminal) io.err(`${LINE_CLEARED}${says}`);
  };

  let standings = standingsNamed(words, folders, io);
  let local = localFindings(words, io, folders, standings);
  const mends = local.flatMap(each => (each.state === 'problem' && each.mend ? [each.mend] : []));
  let mended = 0;
  if (fixes && mends.length > 0) {
    mended = await mend(mends, io, isAgreed, json);
    if (mended > 0) {
      standings = standingsNamed(words, folders, io);
      local = localFindings(words, io, folders, standings);
    }
  }
  show(local);
  if (words.flags['--no-proof'] === undefined) {
    const { sound, unasked } = await agreedTo(standings, io, isAgreed, json);
    busy('running the hooks …');
    const proofs = await hookFindings(sound, io);
    busy('');
    show([...proofs, ...unasked]);
  }
  const delivery = deliveryFindings(folders, standings, io);
  const wire =
    words.flags['--offline'] === undefined ? await wireFindings(folders, standings, { words, io, busy }) : [];
  const unreachable = new Set(wire.flatMap(each => failureOf(each) ?? []));
  // An unreachable endpoint is one problem, even if earlier deliveries failed for the same reason.
  show(delivery.filter(each => !unreachable.has(failureOf(each) ?? '')));
  show(wire);

  const problems = findings.filter(each => each.state === 'problem').length;
  if (json) {
    const rows = findings.map(each => ({
      check: each.check,
      of: each.of,
      state: each.state,
      ...wordsOfFinding(each),
      ...(each.state === 'problem' ? { code: each.problem.code, problem: each.problem } : {}),
    }));
    io.out(`${JSON.stringify({ v: 1, problems, mended, findings: rows }, null, 2)}\n`);
  } else {
    io.out(`\n${problems === 0 ? 'No issues found.' : `Found ${problems} issue(s)`}\n`);
    if (problems > 0 && !fixes && mends.length > 0) io.out('  next: otel-hooks doctor --fix\n');
  }
  return problems > 0 ? 1 : 0;
}

function localFindings(words: Words, io: Io, folders: Folders, found: readonly Found[]): Finding[] {
  const { env, platform } = io;
  const common = surroundingsOf(folders, io);
  const bin = `${distFolder()}/otel-hooks.cjs`;
  const named = agentsNamed(words);
  return [
    ...findingsOfPrograms(named, common),
    ...findingsOnMachine({ env, platform, ...folders, bin, named: providersNamed(found) }),
    ...findingsOfAgents(named, found, common),
  ];
}

/** Returns the number of repaired problems. */
async function mend(mends: readonly Mend[], io: Io, isAgreed: boolean, json: boolean): Promise<number> {
  if (!json) for (const diff of new Set(mends.flatMap(each => each.diffs))) io.out(diff);
  if (!isAgreed) {
    const answer = await io.ask('Change this? [y/N] ');
    if (!/^y(es)?$/i.test(answer.trim())) {
      io.out('Nothing was changed.\n');
      return 0;
    }
  }
  let mended = 0;
  for (const { apply } of mends) {
    const failed = apply();
    if (failed) io.err(problemText(failed));
    else mended += 1;
  }
  if (!json && mended > 0) io.out('Fixed.\n\n');
  return mended;
}

/**
 * For each agent, one scope whose entries are those that this version writes. Entries in a project's file run only
 * after a person has seen them and agreed, because the file came with a clone.
 */
async function agreedTo(
  standings: readonly Found[],
  io: Io,
  isAgreed: boolean,
  json: boolean,
): Promise<{ sound: Found[]; unasked: Finding[] }> {
  const fresh = standings.filter(
    each => 'standing' in each && each.standing.events.length > 0 && each.standing.stale.length === 0,
  );
  const first = fresh.filter((each, at) => fresh.findIndex(({ agent }) => agent === each.agent) === at);
  const shared = first.filter(({ scope }) => scope !== 'global');
  if (shared.length === 0) return { sound: first, unasked: [] };
  if (!json) for (const { setup } of shared) io.out(hookRunText(hookRunOf(setup, io.cwd, { ...io.env }, io.now())));
  const mayAsk = !isAgreed && !json && io.isTerminal;
  const answer = mayAsk ? await io.ask(shared.length > 1 ? 'Run them? [y/N] ' : 'Run it? [y/N] ') : '';
  if (isAgreed || /^y(es)?$/i.test(answer.trim())) return { sound: first, unasked: [] };
  return {
    sound: first.filter(each => !shared.includes(each)),
    unasked: shared.map(({ agent, scope, files }) =>
      unknown(
        'hook',
        agent.id,
        `the hook in ${filesText(files)} was not run: a project's file needs a yes.`,
        `otel-hooks doctor --tool ${agent.id} --${scope}, at a terminal`,
      ),
    ),
  };
}

const hookRunText = (run: ReturnType<typeof hookRunOf>): string =>
  'ok' in run ? '' : `${asShown(run.file)} would run, as you and in this folder:\n  ${asShown(run.command)}\n`;

/** Each registered hook is run as its agent would run it; all at once, since each waits for delivery. */
async function hookFindings(standings: readonly Found[], io: Io): Promise<Finding[]> {
  return await Promise.all(
    standings.map(async ({ agent, setup }): Promise<Finding> => {
      const proof = await prove(setup, io.cwd, { ...io.env }, io.now());
      if (!proof.ok) {
        return problem('hook', agent.id, {
          code: 'hook-fails',
          agent: agent.title,
          why: proof.why,
          advice: proof.next,
        });
      }
      const tookS = (proof.tookMs / 1_000).toFixed(1);
      return fine('hook', agent.id, `${proof.event} went through the hook into the journal in ${tookS} s.`);
    }),
  );
}

function deliveryFindings(folders: Folders, standings: readonly Found[], io: Io): Finding[] {
  const { state, config } = folders;
  const around = { places: surroundingsOf(folders, io).places, nowMs: io.now() };
  const silent = (store?: Store): Finding[] =>
    silentHooks(standings, store, around).map(each => problem('delivery', undefined, each));
  const newer = (store?: Store): Finding[] =>
    newerAgents(standings, store, surroundingsOf(folders, io)).map(each => problem('agents', undefined, each));
  try {
    const store = openStore({ folder: state, access: 'read' });
    try {
      const books = readStatusBooks(store);
      const known = config.problems.map(each => JSON.stringify(each));
      const shown = problemsNow(store, { folders: { state, config }, now: config.problems, io });
      const findings = merged(shown)
        .filter(each => !known.includes(JSON.stringify(each)))
        .map(each => problem('delivery', undefined, each));
      for (const account of imbalances(books)) {
        findings.push(problem('delivery', undefined, { code: 'books-unbalanced', account }));
      }
      findings.push(...silent(store));
      if (findings.length > 0) return [...findings, ...newer(store)];
      const { received, waiting } = books.fragments;
      const damaged = damagedFiles(store.books().counters);
      const found = damaged === undefined ? '' : ` Found damaged so far: ${damaged} (docs/reliability.md).`;
      const says = `${received} hooks received, ${waiting} waiting; the books balance.${found}`;
      return [fine('delivery', undefined, says), ...newer(store)];
    } finally {
      store.close();
    }
  } catch (error) {
    if (!(error instanceof StateRefused)) throw error;
    return error.problem.code === 'state-missing'
      ? [...silent(), ...newer()]
      : [problem('delivery', undefined, error.problem)];
  }
}

/** Returns the unreachable endpoints, with the reasons. */
function failureOf(finding: Finding): string | undefined {
  if (finding.state !== 'problem') return undefined;
  const { problem: found } = finding;
  const isFailure =
    found.code === 'delivery-failing' ||
    found.code === 'endpoint-unreachable' ||
    found.code === 'endpoint-tls' ||
    found.code === 'endpoint-protocol';
  return isFailure ? `${found.endpoint} ${found.why}` : undefined;
}

async function wireFindings(
  { config }: Folders,
  standings: readonly Found[],
  { words, io, busy }: { words: Words; io: Io; busy: (says: string) => void },
): Promise<Finding[]> {
  const proxies = proxiesOn(words, io);
  const { destinations } = destinationsInUse(config, providersNamed(standings));
  const sample = synthetic(randomBytes(16).toString('hex'), randomBytes(8).toString('hex'), io.now());
  busy('sending a trace, a log record and a metric …');
  const sent = await Promise.all(destinations.map(each => sendTo(each, { synthetic: sample, proxies, now: io.now })));
  const taken = [...new Set(sent.flatMap(each => each.taken))];
  busy('reading them back …');
  const back = await readBack({
    values: config.values,
    taken,
    isLocal: destinations.some(({ endpoint }) => isLocal(endpoint)),
    synthetic: sample,
    patienceMs: PATIENCE_MS,
    pause: ms => new Promise(resolve => setTimeout(resolve, ms)),
    monotonicMs: () => performance.now(),
    proxies,
  });
  busy('');
  return [...sent.flatMap(each => each.findings), ...back];
}

const isLocal = (endpoint: string): boolean =>
  URL.canParse(endpoint) && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(endpoint).hostname);

const marks = { fine: 'ok', unknown: '?', problem: 'problem' } as const;
const colors = { fine: 'green', unknown: 'yellow', problem: 'red' } as const;

function textOf(finding: Finding, io: Io): string {
  const { says, next } = wordsOfFinding(finding);
  const word = marks[finding.state].padEnd(7);
  const plain = table([[word, finding.check.padEnd(13), says]]);
  const line = io.color ? `${styled(colors[finding.state], word)}${plain.slice(word.length)}` : plain;
  const code = finding.state === 'problem' ? ` (${finding.problem.code})` : '';
  return next === undefined && code === '' ? line : `${line}${' '.repeat(9)}next: ${next}${code}\n`;
}
