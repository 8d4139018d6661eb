/**
 * The plugin that OpenCode loads into its own process (V1 source at 1.18.18, V2 documents up to 2.0.32; checked
 * 2026-11-18). It is one default export with `server` for V1 and `setup` for V2; each version ignores the other
 * function. The plugin passes events to the hook command one after the other, so that they arrive in order.
 *
 * A plugin that throws stops the agent's work, and a plugin that waits delays it. So OpenCode awaits no hook command,
 * the plugin does not throw and changes no value. If the queue is full, it drops events. It never forwards streamed
 * pieces.
 */
import { fieldsOf, isFields, text } from '../../lib/read.ts';
import type { Entry, HookCommand } from '../contract/contract.ts';

const HEAD =
  '// The otel-hooks plugin for OpenCode. Written by `otel-hooks enable`, removed by `otel-hooks disable`; changes are overwritten.';

export function pluginText(commands: ReadonlyMap<string, HookCommand>): string {
  const entries = [...commands].map(([event, command]) => `  ${JSON.stringify(event)}: ${JSON.stringify(command)},\n`);
  return `${HEAD}\nimport { spawn } from 'node:child_process';\n\nconst commands = {\n${entries.join('')}};\n${BODY}`;
}

/** Returns true for our plugin, and for the plugin that the Python package of this name wrote. */
export const isPlugin = (source: string): boolean =>
  source.startsWith(`${HEAD}\n`) ||
  /^\s*(?:\/[/*]|\*).*\botel-hooks-opencode-plugin-v1\b/m.test(source) ||
  /^(?:export )?const \w+ = ["']otel-hooks-opencode-plugin-v1["']/m.test(source);

export function commandsIn(source: string): Entry[] {
  return [...source.matchAll(/^ {2}("[^"]+"): (\{.*\}),$/gm)].flatMap(([, event = '', command = '']) => {
    const fields = parsed(command);
    if (!isFields(fields)) return [];
    return [{ event: String(parsed(event)), command: { posix: text(fields.posix), windows: text(fields.windows) } }];
  });
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    // A user has edited the line, so it cannot be parsed.
    return fieldsOf(undefined);
  }
}

const BODY = `
const MOST_WAITING = 1000;
const MOST_REMEMBERED = 5000;
const PATIENCE_MS = 5000;

/** Starts one hook process after the other. */
function sender(directory, versionOf) {
  let waiting = 0;
  let last = Promise.resolve();
  const send = (event, session) => {
    const { posix, windows } = commands[nameOf(event)] ?? {};
    const command = process.platform === 'win32' ? windows : posix;
    if (!command || waiting >= MOST_WAITING) return;
    const payload = JSON.stringify({ session_id: session, event_time: Date.now(), directory, opencode_version: versionOf(), ...event });
    waiting += 1;
    last = last.then(() => run(command, payload, directory)).catch(() => {}).then(() => { waiting -= 1; });
  };
  return { send, done: () => within(last, PATIENCE_MS) };
}

function run(command, payload, cwd) {
  return new Promise(settled => {
    const child = spawn(command, { shell: true, cwd, stdio: ['pipe', 'ignore', 'ignore'], windowsHide: true });
    const limit = setTimeout(settled, PATIENCE_MS);
    limit.unref?.();
    const end = () => { clearTimeout(limit); settled(); };
    child.on('error', end);
    child.on('close', end);
    child.stdin.on('error', () => {});
    child.stdin.end(payload);
  });
}

function within(work, ms) {
  return new Promise(settled => {
    const limit = setTimeout(settled, ms);
    work.then(() => { clearTimeout(limit); settled(); });
  });
}

/** The final name of an event. Betas of V2 used other names for input that is queued and delivered. */
const nameOf = event => String(event?.type)
  .replace(/^session\\.(input|prompt)\\.admitted$/, 'session.inbox.enqueued')
  .replace(/^session\\.(input|prompt)\\.promoted$/, 'session.inbox.delivered')
  .replace(/^session\\.input\\./, 'session.inbox.');

/** Stores a value, and removes the oldest one above the limit. */
function remember(map, key, value) {
  map.delete(key);
  map.set(key, value);
  if (map.size > MOST_REMEMBERED) map.delete(map.keys().next().value);
}

/** The parents of sessions, from the forwarded events. */
function family() {
  const parents = new Map();
  return {
    learn(id, parent) {
      if (id && parent) remember(parents, id, parent);
    },
    rootOf(id) {
      let root = id;
      for (let up = 0; up < 100 && parents.has(root); up++) root = parents.get(root);
      return root;
    },
  };
}

/** Catches all errors, so that a failure of the plugin does not affect the agent. */
const quietly = work => (...args) => {
  try {
    work(...args);
  } catch {
    // The event is lost, and the agent continues.
  }
};

// V1
async function server({ directory } = {}) {
  const { learn, rootOf } = family();
  const reported = new Map();
  const open = new Set();
  // Of each session: the message that waits for its response. Of each message: the time of the newest streamed part.
  const answering = new Map();
  const streamed = new Map();
  let version;
  const { send, done } = sender(directory, () => version);
  const pass = (type, properties) => {
    const session = properties?.sessionID ?? properties?.info?.sessionID ?? properties?.part?.sessionID ?? properties?.info?.id;
    if (!session) return;
    const root = rootOf(session);
    if (type === 'session.deleted' && root === session) open.delete(root);
    else open.add(root);
    send({ type, properties }, root);
  };
  const once = key => !reported.has(key) && (remember(reported, key, true), true);
  return {
    event: async ({ event } = {}) => quietly(() => {
      const { type, properties = {} } = event ?? {};
      if (/^session\\.(created|updated)$/.test(type)) {
        learn(properties.info?.id, properties.info?.parentID);
        version = properties.info?.version ?? version;
      }
      // These events are repeated while the message or part grows.
      if (type === 'message.updated') {
        const { id, sessionID, role, time } = properties.info ?? {};
        if (role === 'assistant' && !time?.completed) remember(answering, sessionID, id);
        if (role !== 'assistant' || !time?.completed || !once(id)) return;
        pass(type, { ...properties, streamed: streamed.get(id) });
        return;
      }
      if (type === 'message.part.updated') {
        const { type: kind, callID, state, messageID, time } = properties.part ?? {};
        const atMs = time?.end ?? (kind === 'tool' ? state?.time?.start : undefined);
        if (atMs) remember(streamed, messageID, Math.max(atMs, streamed.get(messageID) ?? 0));
        if (kind !== 'tool' || state?.status === 'pending' || !once(callID + state?.status)) return;
      }
      if (type === 'session.status' && properties.status?.type !== 'retry') return;
      if (type === 'session.error') pass(type, { ...properties, messageID: answering.get(properties.sessionID) });
      else if (type !== 'chat.message' && type !== 'chat.params') pass(type, properties);
    })(),
    'chat.message': async (input, output) => quietly(() => {
      pass('chat.message', { ...input, agent: input?.agent ?? output?.message?.agent, messageID: input?.messageID ?? output?.message?.id, parts: output?.parts });
    })(),
    'chat.params': async input => quietly(() => {
      pass('chat.params', { sessionID: input?.sessionID, messageID: answering.get(input?.sessionID), agent: input?.agent, model: { id: input?.model?.id ?? input?.model?.modelID, providerID: input?.model?.providerID } });
    })(),
    'experimental.session.compacting': async input => quietly(() => {
      pass('experimental.session.compacting', { sessionID: input?.sessionID });
    })(),
    dispose: async () => {
      quietly(() => { for (const root of open) send({ type: 'dispose', properties: { sessionID: root } }, root); })();
      await done();
    },
  };
}

// V2
async function setup(ctx) {
  const directory = ctx?.location?.directory;
  const { learn, rootOf } = family();
  const known = new Map();
  const { send, done } = sender(directory, () => ctx?.app?.version);
  const stop = new AbortController();
  // The stream has the events of the whole server, but each folder has its own instance of the plugin.
  const isHere = ({ location, data }) =>
    location?.directory === undefined ? known.has(data?.sessionID) : location.directory === directory;
  const pass = quietly(event => {
    const session = event?.data?.sessionID ?? event?.data?.form?.sessionID;
    if (!session || !isHere(event)) return;
    remember(known, session, true);
    learn(session, event.type === 'session.forked' ? undefined : event.data.parentID);
    send(event, rootOf(session));
  });
  const listen = async () => {
    for await (const event of ctx.event.subscribe({ signal: stop.signal })) pass(event);
  };
  listen().catch(() => {});
  return async () => {
    stop.abort();
    await done();
  };
}

export default { id: 'otel-hooks', server, setup };
`;
