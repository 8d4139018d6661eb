/** The file that a call wrote, as the result of the call states it. */
import type { EditFacts, Fields } from '../../event/event.ts';
import { text } from '../../lib/read.ts';
import type { WrittenFile } from '../contract/contract.ts';
import { linesOfHunks, linesOfText } from '../shared/edits.ts';

const tools = new Set(['Edit', 'MultiEdit', 'NotebookEdit', 'Write']);

/** Undefined if the result names no file: then the input of the call names it. */
export function editsIn(tool: string | undefined, response: Fields): WrittenFile[] | undefined {
  const path = text(response.filePath) ?? text(response.notebook_path);
  if (tool === undefined || !tools.has(tool) || path === undefined) return undefined;
  const operation = operationOf(tool, response);
  const lines =
    linesOfHunks(response.structuredPatch) ??
    (operation === 'create' ? linesOfText(text(response.content)) : undefined);
  return [{ path, operation, lines }];
}

/** A Write states the operation. An edit that replaces a text, or a cell, changes a file that exists. */
function operationOf(tool: string, { type, oldString }: Fields): EditFacts['operation'] {
  if (type === 'create' || type === 'update') return type;
  if (tool === 'Write') return undefined;
  return tool !== 'Edit' || (text(oldString) ?? '') !== '' ? 'update' : undefined;
}
