/** The dialects by their name in the Hook Interchange Format: one line for each. */
import { dialect as claudeCode } from './claude-code/dialect.ts';
import { dialect as cline } from './cline/dialect.ts';
import { dialect as codex } from './codex/dialect.ts';
import type { Dialect } from './contract/dialect.ts';
import { dialect as copilot, vsCodeDialect } from './copilot/dialect.ts';
import { dialect as cursor } from './cursor/dialect.ts';
import { dialect as droid } from './droid/dialect.ts';
import { dialect as geminiCli } from './gemini-cli/dialect.ts';
import { dialect as kiro } from './kiro/dialect.ts';
import { dialect as openCode } from './opencode/dialect.ts';
import { dialect as windsurf } from './windsurf/dialect.ts';

export const dialects: readonly Dialect[] = [
  claudeCode,
  codex,
  geminiCli,
  cursor,
  copilot,
  vsCodeDialect,
  windsurf,
  kiro,
  openCode,
  cline,
  droid,
];

export const dialectNamed = (slug: string): Dialect | undefined => dialects.find(each => each.slug === slug);
