/** docs/risk.md: how risk is judged, and every rule. */
import { levels } from '../../src/enrich/risk/risk.ts';
import { RULES_VERSION, rules, type Wants } from '../../src/enrich/risk/rules.ts';
import { fields, subjectKinds } from '../../src/event/risk-words.ts';

const row = (...cells: string[]): string => `| ${cells.join(' | ')} |`;
const code = (text: string): string => `\`${text}\``;

/** Patterns are long: the table says which fields count, the source says how. */
const asked = (wants: Wants | undefined): string =>
  Object.entries(wants ?? {})
    .map(([field, want]) => {
      const words = (typeof want === 'string' ? [want] : (want ?? [])).filter(word => !/^\/.+\/i?$/.test(word));
      return words.length > 0 && words.length <= 4 ? `${field} ${words.map(code).join(', ')}` : field;
    })
    .join('; ');

const factors: { readonly [factor: string]: string } = {
  DESTRUCTIVE_OP: 'Something is gone, and nothing makes it anew',
  REMOTE_CODE: 'Code from elsewhere is run or installed, unseen',
  OBFUSCATION: 'What is run could not be read before',
  REVERSE_SHELL: 'Another machine gets a shell',
  SECRET_FILE: 'A file of credentials or private keys is read',
  SECRET_EXPOSED: 'A secret of the environment or of a vault is shown',
  SECRET_PATTERN: 'A credential stands in the action itself',
  EXFILTRATION: 'Files or secrets go to another machine',
  METADATA_SERVICE: "A cloud's service for credentials is asked",
  PRIVILEGE: 'More rights, or rights for more people',
  PERSISTENCE: 'Something will run later by itself, or lets somebody in',
  DEFENSE_EVASION: 'A guard is weakened, or a trace removed',
  BYPASS_MODE: 'The agent runs, or is started, without asking',
  SYSTEM_PATH: 'A file of the system is written',
  PUBLISHES: 'A version is published for everybody',
};

export function riskPage(): string {
  const used = [...new Set(rules.map(rule => rule.factor))].sort();
  return `${[
    '<!-- Written by `npm run docs` from src/enrich/risk; edits are overwritten. -->',
    '',
    '# Risk',
    '',
    'Each action is held against a table of rules before anything of it is left out. Only the score, the level and the factors stay:',
    '`risk` of the event, `agent_hooks.risk.*` on spans and records, the histogram `agent_hooks.risk.score`, and the level on `agent_hooks.decisions`. A turn',
    'and a session have the highest risk of their actions. Where an event states a risk itself, that one stands. Where no rule holds, none is stated: it is not known to be harmless.',
    '',
    'The rules are opinions, written down: the same action has the same score everywhere. Nothing is ever blocked, and nobody is asked.',
    '',
    `This is version ${RULES_VERSION} of the table, with ${rules.length} rules. The score is the highest of the rules that hold, and five more for each further factor, up to 100.`,
    '',
    row('level', 'from score'),
    row('---', '---'),
    ...[...levels].reverse().map(([level, from]) => row(code(level), String(from))),
    '',
    'Agent Hooks names the levels and says nothing of what lies between them; these bounds agree with its examples (95 is critical, 80 is high, 5 is low).',
    '',
    '## What is understood of a command',
    '',
    'A shell\'s line is read as words: quotes, comments, heredocs, pipes, redirections and substitutions. `echo "rm -rf /"` says something and deletes nothing; `echo "rm -rf /" | sh` deletes.',
    '`sudo`, `env`, `xargs`, `timeout`, `find -exec`, `sh -c`, `eval` and `ssh` are looked through; `cd` is followed. Paths are judged by where they lead: `./build` comes again, `~` does not.',
    '',
    'Not understood: what a script in a file does, what a variable holds, aliases, and code of other languages beyond a few patterns. Of a command the first 64 KB are read, of a line 512',
    'characters are held against patterns, of a command 256 words.',
    '',
    '## Factors',
    '',
    row('factor', 'means'),
    row('---', '---'),
    ...used.map(factor => row(code(factor), factors[factor] ?? '')),
    '',
    '## Your own rules',
    '',
    'In the global configuration, or in a project whose file you trust:',
    '',
    '```json',
    JSON.stringify(
      {
        risk: {
          rules: [
            {
              id: 'acme.production',
              on: 'command',
              when: { program: ['deploy', 'kubectl'], line: '/--(env|context)[ =]prod/' },
              unless: { flag: 'dry-run' },
              score: 70,
              factor: 'PRODUCTION',
              why: 'it is live',
            },
          ],
          overrides: { 'privilege.sudo': 'off', 'git.force': 65 },
        },
      },
      undefined,
      2,
    ),
    '```',
    '',
    'A rule holds when each field under `when` has a value that one of the words there equals, and no field under `unless` has. A word in slashes is a pattern, in the syntax of',
    'RE2 (no look-around, no back references), which cannot hang; `/…/i` does not care for capitals. A pattern that cannot be used costs its rule, and delivery says so. The rules that ship have',
    'JavaScript patterns. A session keeps the rules of its first event.',
    '',
    'What one action may cost is limited by the number of characters that are looked at, not by time, so the same action always has the same risk. A command that expands to more (variables in loops,',
    '`eval` in `eval`) is judged by what was looked at up to there, and `odd.risk_cut` in `otel-hooks status --json` counts it.',
    '',
    row('`on`', 'holds for'),
    row('---', '---'),
    ...Object.entries(subjectKinds).map(([kind, about]) => row(code(kind), about)),
    '',
    row('field', 'is'),
    row('---', '---'),
    ...Object.entries(fields).map(([field, about]) => row(code(field), about)),
    '',
    'Places are: `root`, `home`, `in-home`, `system`, `elsewhere`, `temporary`, `workspace` (below where the agent works), `all` (all of it, or above), `rebuilt`, `repository`, `disk`,',
    '`harmless-device`, `secret`, `startup`, `sudoers`, `history`, `agent-settings`, `unknown`.',
    '',
    '## Rules',
    '',
    row('id', 'on', 'looks at', 'unless', 'score', 'factor', 'why'),
    row('---', '---', '---', '---', '---', '---', '---'),
    ...rules.map(({ id, on, when, unless, score, factor, why }) =>
      row(code(id), on, asked(when), asked(unless), String(score), code(factor), why),
    ),
  ].join('\n')}\n`;
}
