/** For each promise, a change of the program that breaks it, and a test that must then fail. This tests the tests. */

export interface Break {
  promise: string;
  /** The wrong behaviour of the changed program. */
  breaks: string;
  file: string;
  edits: [from: string, to: string][];
  /** The file and the name of the test for the promise. */
  test: string;
  named: string;
}

export const breaks: Break[] = [
  {
    promise: 'P1',
    breaks: 'a hook decides: it ends with 2, which agents take for a refusal',
    file: 'src/hook/script.ts',
    edits: [["\ntrap 'exit 0' 0\n", "\ntrap 'exit 2' 0\n"]],
    test: 'test/obligations/many-hooks.test.ts',
    named: 'R1',
  },
  {
    promise: 'P2',
    breaks: 'a hook loads what it does not need',
    file: 'src/hook/hook.ts',
    edits: [["  let step = 'stdin';\n  try {", "  let step = 'stdin';\n  require('node:https');\n  try {"]],
    test: 'test/walls/front-end.test.ts',
    named: 'loads only node:fs',
  },
  {
    promise: 'P3',
    breaks: 'a collector that is away has taken everything',
    file: 'src/ship/verdict.ts',
    edits: [
      [
        "return { kind: 'retry', why: answer.failure };",
        "return { kind: 'taken', rejected: 0, message: answer.failure };",
      ],
    ],
    test: 'test/obligations/answers.test.ts',
    named: 'R6 reset',
  },
  {
    promise: 'P4',
    breaks: 'a damaged fragment stops the delivery',
    file: 'src/store/inbox.ts',
    edits: [
      [
        "if (decoded.why === 'header') return rejected('header');",
        "if (decoded.why === 'header') throw new Error(name);",
      ],
    ],
    test: 'test/obligations/damage.test.ts',
    named: 'fragments are damaged',
  },
  {
    promise: 'P5',
    breaks: 'a span has another id each time',
    file: 'src/telemetry/ids.ts',
    edits: [
      ['if (before !== undefined) return before;', ''],
      ['const id = notZero(16, parts);', 'const id = notZero(16, performance.now() + parts);'],
    ],
    test: 'test/obligations/many-hooks.test.ts',
    named: 'P5',
  },
  {
    promise: 'P6',
    breaks: 'what was accepted is counted by request',
    file: 'src/deliver/settlement.ts',
    edits: [['account.accepted += outcome.accepted;', 'account.accepted += Math.min(1, outcome.accepted);']],
    test: 'test/obligations/answers.test.ts',
    named: 'R6 202',
  },
  {
    promise: 'P7',
    breaks: "a collector's answer is read to its end",
    file: 'src/ship/answer.ts',
    edits: [['const LARGEST_ANSWER_BYTES = 4 * 1024 * 1024;', 'const LARGEST_ANSWER_BYTES = 4 * 1024 ** 3;']],
    test: 'test/obligations/answers.test.ts',
    named: 'R6 503 and 100 MB',
  },
  {
    promise: 'P8',
    breaks: 'what agents said is not redacted',
    file: 'src/enrich/redact.ts',
    edits: [['return { body: kept, content:', 'return { body, content:']],
    test: 'test/obligations/canaries.test.ts',
    named: 'S3 in all payloads of agents',
  },
];
