/**
 * Reads the transcript files that hooks name in fields which several agents share: the file of the session, and the
 * file of the subagent that the hook is about.
 */
import type { Fields } from '../../event/event.ts';
import { word } from '../../lib/read.ts';
import type { NamedFiles } from '../contract/contract.ts';

export function namedFiles(fields: Fields): NamedFiles {
  const id = word(fields.agent_id);
  const path = word(fields.agent_transcript_path);
  return {
    main: word(fields.transcript_path),
    subagent: id === undefined || path === undefined ? undefined : { id, path },
  };
}
