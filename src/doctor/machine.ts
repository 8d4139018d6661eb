/**
 * Collects facts about this machine: the program and its copies, the configuration, our folders. It changes no file.
 */

import fs from 'node:fs';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { destinationsInUse } from '../config/destinations.ts';
import { exposuresOf } from '../config/exposures.ts';
import type { LoadedConfig } from '../config/files.ts';
import { factsOf, keys } from '../config/schema.ts';
import { pathIn } from '../lib/path-variable.ts';
import { withRegularFile } from '../lib/regular-file.ts';
import { isTrustedOwner } from '../lib/trusted-owner.ts';
import { VERSION } from '../lib/version.ts';
import type { Problem } from '../problems/problem.ts';
import { isPythonProgram } from '../python/program.ts';
import { applySetup, planConfig } from '../setup/setup.ts';
import { type Finding, fine, type Mend, problem } from './finding.ts';

export interface Machine {
  env: Readonly<Record<string, string | undefined>>;
  platform: string;
  config: LoadedConfig;
  /** The providers that hooks name. */
  named: readonly (string | undefined)[];
  state: string;
  data: string;
  /** The Node front end of this installation. */
  bin: string;
}

export const findingsOnMachine = (machine: Machine): Finding[] => [
  ...programFindings(machine),
  ...configFindings(machine),
  ...folderFindings(machine),
];

function programFindings({ env, bin, platform }: Machine): Finding[] {
  const findings: Finding[] = [fine('program', undefined, `otel-hooks ${VERSION}, Node ${process.version}, ${bin}`)];
  if (platform === 'win32') return findings;
  const own = realOf(bin);
  const folders = (pathIn(env) ?? '').split(delimiter).filter(folder => isAbsolute(folder));
  const seen = new Set([own]);
  for (const folder of folders) {
    const path = join(folder, 'otel-hooks');
    const real = realOf(path);
    if (real === undefined || seen.has(real)) continue;
    seen.add(real);
    findings.push(
      problem('program', path, { code: 'program-twice', path, isPython: isPythonProgram(beginningOf(real)), own: bin }),
    );
  }
  return findings;
}

function beginningOf(path: string): string {
  try {
    const bytes = Buffer.alloc(256);
    return withRegularFile(path, file => bytes.toString('latin1', 0, fs.readSync(file, bytes, 0, 256, 0)));
  } catch {
    // The file is not readable. It counts as a program with unknown content.
    return '';
  }
}

function realOf(path: string): string | undefined {
  try {
    return fs.statSync(path).isFile() ? fs.realpathSync(path) : undefined;
  } catch {
    // The path does not exist.
    return undefined;
  }
}

function configFindings({ config, named, env, data }: Machine): Finding[] {
  const { destinations, problems } = destinationsInUse(config, named);
  const found = [...config.problems, ...problems].map(each =>
    problem('configuration', undefined, each, protocolMend(each, config, data)),
  );
  const origins = Object.entries(config.origins)
    .filter(([key, origin]) => origin !== 'default' && /^provider$|endpoint$|base_url$/.test(key))
    .map(([key, origin]) => `${key} from ${origin}`);
  const files = [config.globalFile, ...(config.projectFile === undefined ? [] : [config.projectFile])];
  const text = `${files.join(', ')}${origins.length > 0 ? ` (${origins.join(', ')})` : ''}`;
  const exposures = exposuresOf(destinations, env).map(each => problem('configuration', undefined, each));
  if (found.length > 0) return [...found, ...exposures];
  if (destinations.length > 0) return [fine('configuration', undefined, text), ...exposures];
  return [
    ...exposures,
    {
      check: 'configuration',
      state: 'unknown',
      says: `no destination is configured (${files.join(', ')}); sessions are kept in the journal only.`,
      next: 'set otlp.endpoint there, for example to http://127.0.0.1:4318.',
    },
  ];
}

/** The address of the user's file has the port of gRPC: the protocol becomes gRPC. */
function protocolMend(found: Problem, { globalFile, origins }: LoadedConfig, data: string): Mend | undefined {
  const isOurs = found.code === 'endpoint-grpc-port' && found.from === 'global file';
  const { 'otlp.protocol': origin = 'default' } = origins;
  // A protocol of the environment would still override that of the file.
  if (!isOurs || (origin !== 'default' && origin !== 'global file')) return undefined;
  return {
    diffs: [`${globalFile}: otlp.protocol = grpc\n`],
    apply: () => {
      const planned = planConfig(globalFile, [[['otlp', 'protocol'], 'grpc']], data);
      const done = planned.ok ? applySetup(planned.plan) : planned;
      return done.ok ? undefined : done.problem;
    },
  };
}

function factsOfPath(path: string): fs.Stats | undefined {
  try {
    return fs.lstatSync(path);
  } catch {
    // The file is missing, or its folder is not accessible. The check that needs the file reports this.
    return undefined;
  }
}

function openMode(path: string, mode: number, wanted: number): Finding {
  const found: Problem = { code: 'mode-open', path, mode: octal(mode), wanted: octal(wanted) };
  return problem('folders', path, found, {
    diffs: [`${path}: mode ${octal(mode)} -> ${octal(wanted)}\n`],
    apply: () => {
      try {
        fs.chmodSync(path, wanted);
        return undefined;
      } catch (error) {
        return { code: 'settings-file', file: path, why: error instanceof Error ? error.message : String(error) };
      }
    },
  });
}

/** A private key may belong to a group of the user, as in /etc/ssl/private, but other users of the machine must not read it. */
function keyFindings({ values }: Machine['config'], platform: string): Finding[] {
  if (platform === 'win32') return [];
  const files = keys.flatMap(key => (key.endsWith('client_key') ? [values[key]] : []));
  return [...new Set(files)].flatMap(path => {
    const facts = typeof path === 'string' ? factsOfPath(path) : undefined;
    if (typeof path !== 'string' || facts === undefined || facts.isSymbolicLink() || (facts.mode & 0o007) === 0)
      return [];
    return [openMode(path, facts.mode & 0o777, 0o600)];
  });
}

/** The folder belongs to this user only: no other user may read the payloads. */
function folderFindings({ state, data, config, platform }: Machine): Finding[] {
  const findings: Finding[] = [];
  const there: string[] = [];
  for (const [path, wanted] of [
    [state, 0o700],
    [join(state, 'inbox'), 0o700],
    [data, 0o700],
    ...(holdsSecret(config) ? [[config.globalFile, 0o600] as const] : []),
    [tokenOf(config), 0o600],
  ] as const) {
    const facts = factsOfPath(path);
    if (facts === undefined) continue;
    there.push(path);
    if (platform === 'win32') continue;
    const foreign = foreignPath(path, facts, config);
    if (foreign !== undefined) {
      findings.push(problem('folders', path, foreign));
      continue;
    }
    const mode = facts.mode & 0o777;
    const isUnusable = facts.isDirectory() && (mode & 0o700) !== 0o700;
    if (facts.isSymbolicLink() || ((mode & 0o077) === 0 && !isUnusable)) continue;
    findings.push(openMode(path, mode, wanted));
  }
  findings.push(...keyFindings(config, platform));
  if (findings.length > 0) return findings;
  return [fine('folders', undefined, there.length === 0 ? 'nothing was received yet' : there.join(', '))];
}

const tokenOf = ({ globalFile }: LoadedConfig): string => join(dirname(globalFile), 'token');

/** Root may provide the configuration. Everything else belongs to the user. */
function foreignPath(path: string, { uid }: fs.Stats, config: LoadedConfig): Problem | undefined {
  if (path === config.globalFile)
    return isTrustedOwner(uid) ? undefined : { code: 'config-owner', file: path, isUsed: true };
  if (process.geteuid === undefined || uid === process.geteuid()) return undefined;
  if (path === tokenOf(config)) return { code: 'token-unsafe', file: path, why: 'it belongs to another user' };
  return { code: 'state-foreign', folder: path, owner: uid };
}

/** A configuration without credentials may be readable by other users. */
const holdsSecret = ({ origins }: LoadedConfig): boolean =>
  keys.some(key => origins[key] === 'global file' && factsOf(key).secret === true);

const octal = (mode: number): string => `0${mode.toString(8)}`;
