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
  DESTRUCTIVE_OP: 'Data is removed that cannot be restored',
  REMOTE_CODE: 'Unreviewed code from another machine is run or installed',
  OBFUSCATION: 'The executed code is hidden or encoded',
  REVERSE_SHELL: 'Another machine gets a shell',
  SECRET_FILE: 'A file of credentials or private keys is read',
  SECRET_EXPOSED: 'A secret of the environment or of a vault is shown',
  SECRET_PATTERN: 'The action contains a credential',
  EXFILTRATION: 'Files or secrets go to another machine',
  METADATA_SERVICE: "A cloud's metadata service, which has credentials, is requested",
  PRIVILEGE: 'More rights, or rights for more people',
  PERSISTENCE: 'Code will run later, or a person gets access',
  DEFENSE_EVASION: 'A protection is weakened, or evidence is removed',
  BYPASS_MODE: 'The agent runs, or is started, without permission questions',
  SYSTEM_PATH: 'A file of the system is written',
  PUBLISHES: 'A version is published',
};

export function riskPage(): string {
  const used = [...new Set(rules.map(rule => rule.factor))].sort();
  return `${[
    '<!-- Written by `npm run docs` from src/enrich/risk; edits are overwritten. -->',
    '',
    '# Risk',
    '',
    'otel-hooks compares each action with a table of rules before redaction. Only the score, the level and the factors stay:',
    '`risk` of the event, `agent_hooks.risk.*` on spans and records, the histogram `agent_hooks.risk.score`, and the level on `agent_hooks.decisions`. A turn',
    'and a session have the highest risk of their actions. A risk that an event states itself is kept. An action for which no rule applies is `low` with a score of 5; this does not mean that it is harmless. An action without a text in its input has no risk if no rule applies.',
    '',
    'The rules are opinions, but the same action has the same score everywhere. otel-hooks never blocks an action and never asks a person.',
    '',
    `This is version ${RULES_VERSION} of the table, with ${rules.length} rules. The score is the highest score of the rules that apply, plus five for each further factor of a rule with a score of at least 20, up to 100.`,
    '',
    row('level', 'from score'),
    row('---', '---'),
    ...[...levels].reverse().map(([level, from]) => row(code(level), String(from))),
    '',
    'Agent Hooks names the levels and defines no bounds between them. These bounds agree with its examples (95 is critical, 80 is high, 5 is low).',
    '',
    'One score differs from its examples. Agent Hooks gives `rm -rf /tmp/build` 95 and `DESTRUCTIVE_OP`. otel-hooks gives it the same factor and a score of 15: the factor says what the command does, the score says what is at stake. A temporary folder can be made again, and agents delete such folders many times a day. If each deletion scored 95, an alert on critical actions would be useless. The same command scores 30 on a folder of the project, 75 on a folder outside it, and 95 on `/`. To get the score of the example, set `"delete.replaceable": 95` in `risk.overrides`.',
    '',
    '## How well the rules judge',
    '',
    'A rule is right about an action if the level is `high` or `critical` exactly where a person would want to be asked, and if the factor is the one that the person named. Lists of labelled actions measure this. The author of a list does not know the rules, and labels the whole list before the rules run over it. The first run over a list is the result.',
    '',
    row('list', 'actions', 'risky', 'precision', 'recall'),
    row('---', '---', '---', '---', '---'),
    row('fifth', '233', '112', '0.991', '0.991'),
    row('sixth', '387', '196', '0.995', '0.964'),
    '',
    'Precision is the share of the reported actions that are risky, with the right factor. Recall is the share of the risky actions that are reported. `test/enrich/risk/labels` has the lists, and those that the rules were written with. After these measurements the rules were corrected for the actions that they had judged wrongly. Both lists now guard the rules; only a new list can measure them again.',
    '',
    '## How a command is read',
    '',
    'A shell\'s line is read as words: quotes, comments, heredocs, pipes, redirections and substitutions. `echo "rm -rf /"` deletes nothing; `echo "rm -rf /" | sh` deletes.',
    '`sudo`, `env`, `xargs`, `timeout`, `find -exec`, `sh -c`, `eval` and `ssh` are read through to the command that they run; `cd` changes the folder. Paths are judged by their place: `./build` can be built again, `~` cannot.',
    '',
    'Not read: scripts in files, values of variables, aliases, and code of other languages beyond a few patterns. The limits are 64 KB of a command, 512 characters of a line',
    'for patterns, and 256 words of a command.',
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
    'A rule applies when each field under `when` equals one of its words, and no field under `unless` does. A word in slashes is a pattern in the syntax of',
    'RE2 (no look-around, no back references), which cannot hang; `/…/i` ignores case. A rule with an invalid pattern is ignored, and delivery reports it. The built-in rules have',
    'JavaScript patterns. A session keeps the rules of its first event.',
    '',
    'The work for one action is limited by the number of characters, not by time, so the same action always has the same risk. A command that expands to more (variables in loops,',
    '`eval` in `eval`) is judged by the part up to the limit: it has no risk if no rule applies to this part. `odd.risk_cut` in `otel-hooks status --json` counts it.',
    '',
    row('`on`', 'applies to'),
    row('---', '---'),
    ...Object.entries(subjectKinds).map(([kind, about]) => row(code(kind), about)),
    '',
    row('field', 'meaning'),
    row('---', '---'),
    ...Object.entries(fields).map(([field, about]) => row(code(field), about)),
    '',
    'Places are: `root`, `home`, `in-home`, `system`, `elsewhere`, `temporary`, `workspace` (below the working folder), `all` (the whole working folder, or above), `rebuilt`, `repository`, `disk`,',
    '`harmless-device`, `secret`, `startup`, `sudoers`, `history`, `agent-settings`, `unknown`.',
    '',
    '## Rules',
    '',
    row('id', 'on', 'fields', 'unless', 'score', 'factor', 'why'),
    row('---', '---', '---', '---', '---', '---', '---'),
    ...rules.map(({ id, on, when, unless, score, factor, why }) =>
      row(code(id), on, asked(when), asked(unless), String(score), code(factor), why),
    ),
  ].join('\n')}\n`;
}
