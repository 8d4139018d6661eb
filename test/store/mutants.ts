/** The purpose of each part of the protocol: the store without that part, and a sequence of events that then fails. */
import type { Step } from './model.ts';

export interface Mutant {
  without: string;
  file: string;
  edits: [from: string, to: string][];
  steps: Step[];
}

type Owned = Extract<Step, { owner: number }>;
const write = (session: number, count = 1): Step => ({ do: 'write', session, count });
const start = (owner: number, breaks: Owned['breaks'] = []): Step => ({ do: 'restart', owner, breaks });
const round = (
  owner: number,
  breaks: Owned['breaks'] = [],
  forget: 'state' | 'journal' | 'document' | undefined = undefined,
): Step => ({ do: 'round', owner, most: 9, forget, breaks });

const limit = (owner: number, breaks: Owned['breaks'] = []): Step => ({ do: 'limit', owner, breaks });

const itsCommit = /^renameSync rounds\/\d+\.\w+ rounds\/\d+$/;
const theLedger = /^openSync ledger\.json$/;

export const mutants: Mutant[] = [
  {
    without: 'the look at the ledger after the rename',
    file: 'rounds.ts',
    edits: [['if (roundId.n >= n) {', 'if (roundId.n < 0) {']],
    steps: [start(1), write(0), round(0, [{ atCall: itsCommit, what: [round(1), write(1), round(1)] }])],
  },
  {
    without: 'nonces in the names of staged files',
    file: 'rounds.ts',
    edits: [
      // biome-ignore-start lint/suspicious/noTemplateCurlyInString: text of a source
      ['const path = `${folder}/${nonce}.${i}`', 'const path = `${folder}/any.${i}`'],
      ['place(disk, `${staged}.${i}`, path)', 'place(disk, `${folder}/any.${i}`, path)'],
      // biome-ignore-end lint/suspicious/noTemplateCurlyInString: text of a source
    ],
    steps: [
      write(0),
      start(2),
      round(0, [
        {
          atCall: /^renameSync rounds\/1\/\w+\.0 sessions/,
          what: [start(1), write(0), round(1), write(0), round(2, [{ atCall: theLedger, what: 'crash' }])],
        },
      ]),
    ],
  },
  {
    without: 'the order: what goes goes before the ledger',
    file: 'rounds.ts',
    edits: [
      ['  for (const path of manifest.eaten) unlinkIfThere(disk, path);\n', ''],
      [
        "  syncFolder(disk, '');\n",
        "  syncFolder(disk, '');\n  for (const path of manifest.eaten) unlinkIfThere(disk, path);\n",
      ],
    ],
    steps: [write(0), round(0, [{ atCall: /^unlinkSync inbox/, what: 'crash' }]), start(1), round(1)],
  },
  {
    without: "a way out inside the round's folder for files whose names come again",
    file: 'rounds.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: text of a source
    edits: [['renameIfThere(disk, path, `${staged}.gone/${i}`)', 'unlinkIfThere(disk, i < 0 ? staged : path)']],
    steps: [
      write(0),
      round(0),
      write(1),
      round(
        0,
        [{ atCall: /Sync sessions\/0a\.json rounds|unlinkSync sessions/, what: [start(1), write(0), round(1)] }],
        'state',
      ),
    ],
  },
  {
    without: 'reading the ledger again after a manifest',
    file: 'rounds.ts',
    edits: [['if (readLedger(disk).n !== ledger.n) continue;', '']],
    steps: [
      write(0),
      round(0),
      start(2),
      write(0),
      start(1, [
        {
          atCall: /^lstatSync rounds\/2$/,
          what: [round(0), round(2, [{ atCall: theLedger, what: 'crash' }])],
        },
      ]),
    ],
  },
  {
    without: 'looking for a round before its manifest',
    file: 'rounds.ts',
    // biome-ignore-start lint/suspicious/noTemplateCurlyInString: text of a source
    edits: [
      ['  if (!isFolder(disk, folder)) return undefined;\n', ''],
      [
        'parseManifest(readBytes(disk, `${folder}/manifest.json`));',
        'parseManifest(readBytes(disk, `${folder}/manifest.json`)); if (!manifest && !exists(disk, folder)) return;',
      ],
    ],
    // biome-ignore-end lint/suspicious/noTemplateCurlyInString: text of a source
    steps: [
      write(0),
      start(0),
      start(2, [{ atCall: /^lstatSync rounds\/1$/, what: [round(0, [{ atCall: theLedger, what: 'crash' }])] }]),
    ],
  },
  {
    without: 'reading the ledger between opening a journal and writing to it',
    file: 'rounds.ts',
    edits: [['if (readRoundId(disk).n !== n - 1) return false;', '']],
    steps: [
      write(0),
      round(0, [
        {
          atCall: /^openSync journal/,
          what: [start(1), write(1), round(1, [], 'journal'), write(0), round(1)],
        },
      ]),
    ],
  },
  {
    without: 'sweeping away a staging folder in one rename',
    file: 'rounds.ts',
    edits: [
      [
        'if (renameIfThere(disk, folder, litter)) removeIfPossible(disk, litter);',
        'removeIfPossible(disk, folder || litter);',
      ],
    ],
    steps: [
      write(0),
      round(0, [
        {
          atCall: /^openSync rounds\/\d+\.\w+\/manifest/,
          what: [start(1, [{ atCall: /^rmdirSync rounds\/1\./, what: 'crash' }])],
        },
      ]),
    ],
  },
  {
    without: 'reckoning a committed round as applied in the books',
    file: 'books.ts',
    edits: [
      [
        "const pending = found === 'damaged' ? undefined : found;",
        "const pending = found === 'damaged' ? found && undefined : undefined;",
      ],
    ],
    steps: [write(0), round(0, [{ atCall: /^renameSync rounds\/1\/\w+\.ledger/, what: 'look' }])],
  },
  {
    without: 'the books of what a limit takes',
    file: 'own-store.ts',
    edits: [['tally: next => bookExcess(next, excess),', 'tally: next => bookExcess(structuredClone(next), excess),']],
    steps: [{ do: 'write newer' }, { do: 'write newer' }, round(0), limit(0)],
  },
  {
    without: 'forgetting what was left alone when another owner came between',
    file: 'inbox.ts',
    edits: [['    this.newer.clear();\n', '']],
    steps: [
      start(1),
      { do: 'write newer' },
      { do: 'write newer' },
      round(0),
      round(1),
      round(1),
      limit(1),
      limit(0),
      limit(0),
    ],
  },
  {
    without: 'a view that lasts from taking to committing',
    file: 'own-store.ts',
    edits: [['    const view: View = {', '    this.base = adoptLedger(this.disk, false);\n    const view: View = {']],
    steps: [write(0), start(1), round(0, [{ atCall: /^openSync sessions/, what: [round(1)] }])],
  },
];
