/**
 * Judges the order of events in a stream. A stream can be a part of a longer one, so missing events before or after it
 * are not errors: an end without a beginning is a note if the stream has no Session.Start of this session.
 *
 * The state is bounded: MAX_SESSIONS sessions with MAX_OPEN open items each. Events beyond these limits are judged
 * alone.
 */
import { FACTS } from '../../event/event.ts';
import type { Position } from '../../lib/json-position.ts';
import { own, text } from '../../lib/read.ts';
import type { EventJudge, Remark as RemarkOf } from '../events-text.ts';
import { isObject, shown, type Values } from '../wording.ts';
import type { RuleId } from './rules.ts';
import { isDateTime } from './schema.ts';

type Remark = RemarkOf<RuleId>;
type Found = ReturnType<NonNullable<EventJudge<RuleId>['end']>>['found'];

const MAX_SESSIONS = 100_000;
const MAX_OPEN = 1_024;
const MAX_NAMES = 10_000;
const CLOCK_MS = 1_000;

interface Session {
  tool: string | undefined;
  isStarted: boolean;
  endMs: number | undefined;
  newestMs: number;
  reported: Set<RuleId>;
  /** Open items by kind and name: how many are open, and how many of them must end. */
  open: Map<string, { count: number; owed: number }>;
}

/** Types that end an item, with the types that begin it. */
const pairs: Readonly<Record<string, string>> = {
  'Action.After': 'Action.Before',
  'Agent.Plan.End': 'Agent.Plan.Start',
};
const begins: ReadonlySet<string> = new Set(Object.values(pairs));
/** A plan can stay open, because it ends with its turn. */
const mayStayOpen: ReadonlySet<string> = new Set(['Agent.Plan.Start']);

/** The names in the table of clause 7.5. */
const actionNames: ReadonlySet<string> = new Set(['shell', 'read_file', 'write_file', 'web_search', 'code_edit']);

export function judgeSequences(): {
  event(value: Values, at: Position): Remark[];
  end(): Found;
} {
  const sessions = new Map<string, Session>();
  const parents = new Map<string, Position>();
  const named = new Set<string>();
  let responded: Position | undefined;
  let tellsContext = false;

  return {
    event(value, at) {
      const type = text(value.event_type) ?? '';
      const id = text(value.session_id);
      const remarks = judgeNames(type, value);
      if (type === 'Model.Responded') responded ??= at;
      if (type === 'Context.UntilCompaction') tellsContext = true;
      if (id === undefined || id === '' || id.length > 1_024) return remarks;
      const parent = text(value.parent_session_id);
      if (parent !== undefined && parent !== id && !parents.has(parent) && parents.size < MAX_SESSIONS)
        parents.set(parent, at);
      const isFirst = !sessions.has(id);
      const session = sessions.get(id) ?? fresh(value);
      if (isFirst && sessions.size < MAX_SESSIONS) sessions.set(id, session);
      // The rules of the taxonomy do not apply to vendor types.
      if (type.startsWith('vendor.')) return remarks;
      return [...remarks, ...judgeIn(session, type, value, isFirst)];
    },
    end() {
      const found: Found[number][] = [];
      for (const [parent, at] of parents) {
        if (sessions.has(parent) || sessions.size >= MAX_SESSIONS) continue;
        const why = `no event of ${shown(parent)} is in the stream`;
        found.push({ rule: 'sequence/parent', path: ['parent_session_id'], at, why });
      }
      if (responded && !tellsContext) {
        const why = 'models respond, but no Context.UntilCompaction reports the use of the context';
        found.push({ rule: 'stream/context', path: ['event_type'], at: responded, why });
      }
      return found;
    },
  };

  /** Reports each name once, because the same implementation writes it everywhere. */
  function judgeNames(type: string, { data }: Values): Remark[] {
    if (!isObject(data)) return [];
    const isNew = (name: string): boolean => !named.has(name) && named.size < MAX_NAMES && named.add(name) === named;
    const action = isObject(data.action) ? text(data.action.name) : undefined;
    if (action !== undefined && !actionNames.has(action) && !/^mcp:\S/.test(action) && isNew(`action ${action}`)) {
      const why = `${shown(action)} is not one of ${[...actionNames].join(', ')}, mcp:<tool>`;
      return [{ rule: 'action/name', path: ['data', 'action', 'name'], why }];
    }
    const model = type.startsWith('Model.') ? text(data.model_id) : undefined;
    if (model !== undefined && !/^[^/\s]+\/\S+$/.test(model) && isNew(`model ${model}`)) {
      return [{ rule: 'model/id', path: ['data', 'model_id'], why: `${shown(model)} does not name its provider` }];
    }
    return [];
  }
}

const fresh = ({ source }: Values): Session => ({
  tool: isObject(source) ? text(source.tool) : undefined,
  isStarted: false,
  endMs: undefined,
  newestMs: Number.NEGATIVE_INFINITY,
  reported: new Set(),
  open: new Map(),
});

function judgeIn(session: Session, type: string, value: Values, isFirst: boolean): Remark[] {
  const remarks: Remark[] = [];
  const data = isObject(value.data) ? value.data : {};
  const once = (rule: RuleId, field: string, why: string): void => {
    if (session.reported.has(rule)) return;
    session.reported.add(rule);
    remarks.push({ rule, path: [field], why });
  };
  const tool = isObject(value.source) ? text(value.source.tool) : undefined;
  if (tool !== undefined && session.tool !== undefined && tool !== session.tool)
    once('sequence/source', 'source', `${shown(tool)}, and ${shown(session.tool)} before in this session`);
  const time = text(value.timestamp) ?? '';
  const ms = isDateTime(time) ? Date.parse(time) : Number.NaN;
  if (ms < session.newestMs - CLOCK_MS) {
    once('sequence/clock', 'timestamp', `${(session.newestMs - ms) / 1_000} s before the newest one of this session`);
  }
  if (ms > session.newestMs) session.newestMs = ms;

  if (type === 'Session.Start') {
    if (!isFirst && session.endMs === undefined && data.start_reason === 'new') {
      once('sequence/start-late', 'event_type', 'a new session starts after other events of it');
    }
    session.isStarted = true;
    session.endMs = undefined;
    return remarks;
  }
  if (session.endMs !== undefined && ms > session.endMs + CLOCK_MS) {
    once('sequence/after-end', 'event_type', `${shown(type)} after the end of this session`);
  }
  if (type === 'Session.End' || type === 'Session.Abort') {
    if (session.isStarted) remarks.push(...unfinished(session));
    session.endMs = ms;
    session.open.clear();
  } else if (isUnpaired(session, type, value, data)) {
    const why = `${type} without an open ${own(pairs, type)} of the same name`;
    if (session.isStarted) remarks.push({ rule: 'sequence/without-start', path: ['event_type'], why });
    else once('sequence/start-unseen', 'event_type', why);
  }
  return remarks;
}

/** Records items that begin. Returns true if the event ends an item that did not begin. */
function isUnpaired({ open }: Session, type: string, value: Values, data: Values): boolean {
  const began = begins.has(type) ? type : own(pairs, type);
  if (began === undefined) return false;
  const key = `${began} ${nameOf(value, data)}`;
  const isDenied = isObject(data.decision) && data.decision.outcome === 'deny';
  const known = open.get(key);
  if (began === type) {
    const owes = isDenied || mayStayOpen.has(type) ? 0 : 1;
    if (known) Object.assign(known, { count: known.count + 1, owed: known.owed + owes });
    else if (open.size < MAX_OPEN) open.set(key, { count: 1, owed: owes });
    return false;
  }
  // A denial may arrive without its Action.Before.
  if (known === undefined || known.count === 0) return !isDenied && open.size < MAX_OPEN;
  known.count -= 1;
  known.owed = Math.min(known.owed, known.count);
  return false;
}

/** The standard has no id of an action. The id in our own facts is more reliable than the name. */
function nameOf({ metadata }: Values, data: Values): string {
  const facts = isObject(metadata) ? metadata[FACTS] : undefined;
  const call = isObject(facts) ? text(facts.call) : undefined;
  const name = isObject(data.action) ? text(data.action.name) : '';
  return (call ?? name ?? '').slice(0, 256);
}

function unfinished({ open }: Session): Remark[] {
  const owed = [...open].filter(([, { owed: count }]) => count > 0);
  return owed.slice(0, 10).map(([key]) => {
    const [began = '', ...name] = key.split(' ');
    return {
      rule: 'sequence/unfinished',
      path: ['event_type'],
      why: `the session ends with an open ${began} of ${shown(name.join(' '))}`,
    };
  });
}
