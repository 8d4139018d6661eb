/**
 * What hooks of a kind that several agents share say of transcripts: the session's, and that of the subagent they are
 * about.
 */
import type { Fields } from '../../event/event.ts';
import { word } from '../../lib/read.ts';
import type { ToldFiles } from '../contract/contract.ts';

export function toldFiles(fields: Fields): ToldFiles {
  const id = word(fields.agent_id);
  const path = word(fields.agent_transcript_path);
  return {
    main: word(fields.transcript_path),
    subagent: id === undefined || path === undefined ? undefined : { id, path },
  };
}
