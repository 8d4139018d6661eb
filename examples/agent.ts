/**
 * An agent whose SDK emits Agent Hooks: each event goes to the bridge, and the bridge makes the trace.
 *
 * The class `Agent` stands for the SDK. It emits events of Agent Hooks 0.1, as any SDK may that follows the standard.
 */
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { type AgentHooksEvent, type Bridge, type BridgeOptions, createBridge, SPEC_VERSION } from 'otel-hooks';

type Tool = (input: string) => Promise<string>;

class Agent extends EventEmitter<{ event: [AgentHooksEvent]; end: [] }> {
  readonly #tools: Readonly<Record<string, Tool>>;
  readonly #session = randomUUID();

  constructor(tools: Readonly<Record<string, Tool>>) {
    super();
    this.#tools = tools;
  }

  async run(prompt: string): Promise<void> {
    this.#emit({ event_type: 'Session.Start', data: { start_reason: 'new' } });
    this.#emit({ event_type: 'Prompt.Submitted', data: { prompt_length: prompt.length } });
    for (const [name, tool] of Object.entries(this.#tools)) {
      const action = { id: randomUUID(), name };
      this.#emit({ event_type: 'Action.Before', data: { action } });
      try {
        await tool(prompt);
        this.#emit({ event_type: 'Action.After', data: { action, success: true } });
      } catch (error) {
        this.#emit({ event_type: 'Action.After', data: { action, success: false, error: { message: String(error) } } });
      }
    }
    this.#emit({ event_type: 'Session.End', data: { end_reason: 'exit' } });
    this.emit('end');
  }

  #emit(body: Pick<AgentHooksEvent, 'event_type' | 'data'>): void {
    this.emit('event', {
      spec_version: SPEC_VERSION,
      event_id: randomUUID(),
      timestamp: new Date().toISOString(),
      source: { tool: 'my-agent' },
      session_id: this.#session,
      ...body,
    } as AgentHooksEvent);
  }
}

/** Runs the agent. Resolves to the number of events that the bridge refused, which should be 0. */
export async function runAgent(options: BridgeOptions): Promise<number> {
  const bridge: Bridge = createBridge(options);
  const agent = new Agent({
    read_file: async () => 'notes',
    run_tests: async () => Promise.reject(new Error('2 tests failed')),
  });
  let refused = 0;
  agent.on('event', event => {
    const result = bridge.ingest(event);
    if (result.status === 'refused') refused += 1;
  });
  const ended = once(agent, 'end');
  await agent.run('make the tests pass');
  await ended;
  await bridge.shutdown();
  return refused;
}
