import type { Io, Words } from './command.ts';
import { setUp } from './setup.ts';

export const run = (words: Words, io: Io): Promise<number> => setUp('disable', words, io);
