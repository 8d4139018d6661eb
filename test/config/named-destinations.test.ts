import { describe, expect, it } from 'vitest';
import { type ConfigInput, resolve } from '../../src/config/config.ts';
import { type Destination, destinationsFor, destinationsOf } from '../../src/config/destinations.ts';
import { jsonSchema, membersOf } from '../../src/config/schema.ts';
import { shownJson, shownValue } from '../../src/config/shown.ts';
import type { Problem } from '../../src/problems/problem.ts';

const configOf = (file: object, env: Record<string, string> = {}, more: Partial<ConfigInput> = {}) =>
  resolve({
    global: { file: '/g/config.json', text: JSON.stringify(file, undefined, 2) },
    env,
    home: '/h',
    cwd: '/w',
    ...more,
  });

function from(file: object, env: Record<string, string> = {}, more: Partial<ConfigInput> = {}) {
  const config = configOf(file, env, more);
  const { destinations, problems } = destinationsOf(config);
  return { config, destinations, problems: [...config.problems, ...problems] };
}

const shown = ({ destinations }: { destinations: Destination[] }): string[] =>
  destinations.map(
    ({ name, provider, endpoint, signals }) =>
      `${name ?? '-'} ${provider} ${endpoint} ${Object.keys(signals).join('+')}`,
  );

describe('named destinations', () => {
  it('each have a provider, an address, signals and credentials', () => {
    const found = from({
      destinations: {
        team: { endpoint: 'https://team/otlp', headers: { authorization: 'Bearer t' }, signals: ['traces', 'metrics'] },
        mine: { endpoint: 'http://127.0.0.1:4318', compression: 'none' },
        events: { provider: 'honeycomb', api_key: 'k', signals: ['logs'] },
        disk: { provider: 'file', path: 'out.jsonl' },
      },
    });
    expect(found.problems).toEqual([]);
    expect(shown(found)).toEqual([
      'team otlp https://team/otlp traces+metrics',
      'mine otlp http://127.0.0.1:4318 traces+metrics+logs',
      'events honeycomb https://api.honeycomb.io logs',
      'disk file /g/out.jsonl traces+metrics+logs',
    ]);
    const [team, mine, events] = found.destinations;
    expect(team?.signals.traces?.headers).toEqual({ authorization: 'Bearer t' });
    expect(mine?.signals.traces).toMatchObject({ gzip: false, headers: {} });
    expect(events?.signals.logs?.headers).toMatchObject({ 'x-honeycomb-team': 'k' });
  });

  it('stand beside the short form, whose settings they do not get', () => {
    const found = from(
      {
        otlp: { endpoint: 'http://short', headers: 'authorization=short', compression: 'none' },
        destinations: { team: { endpoint: 'https://team' } },
      },
      { OTEL_EXPORTER_OTLP_HEADERS: 'x-env=1' },
    );
    expect(found.problems).toEqual([]);
    expect(shown(found)).toEqual([
      '- otlp http://short traces+metrics+logs',
      'team otlp https://team traces+metrics+logs',
    ]);
    expect(found.destinations[1]?.signals.traces).toMatchObject({ headers: {}, gzip: true });
    const alone = from({ otlp: { endpoint: 'http://short', headers: 'authorization=short', compression: 'none' } });
    const env = from(
      { otlp: { endpoint: 'http://short', headers: 'authorization=short', compression: 'none' } },
      { OTEL_EXPORTER_OTLP_HEADERS: 'x-env=1' },
    );
    expect(found.destinations[0]).toEqual(env.destinations[0]);
    expect(alone.destinations[0]?.id).toMatch(/^[0-9a-f]{16}$/);
  });

  it('the identity is the name within its file', () => {
    const one = from({ destinations: { team: { endpoint: 'https://a', headers: 'k=1' } } }).destinations[0];
    const other = from({ destinations: { team: { endpoint: 'https://b', headers: 'k=2' } } }).destinations[0];
    expect(other?.id).toBe(one?.id);
    expect(other?.stamp).not.toBe(one?.stamp);
    expect(from({ destinations: { theirs: { endpoint: 'https://a', headers: 'k=1' } } }).destinations[0]?.id).not.toBe(
      one?.id,
    );
    const short = from({ otlp: { endpoint: 'https://a', headers: 'k=1' } }).destinations[0];
    expect(one?.stamp).toBe(short?.id);
    const text = '{"destinations": {"team": {"endpoint": "https://theirs"}}}';
    const project = { file: '/p/.otel-hooks.json', text, trusted: true };
    const theirs = from({ destinations: { team: { endpoint: 'https://a' } } }, {}, { project }).destinations;
    expect(theirs.map(each => each.endpoint)).toEqual(['https://theirs']);
    expect(theirs[0]?.id).not.toBe(one?.id);
  });

  it.each<[string, object, string, string]>([
    [
      'an unknown member',
      { endpoint: 'http://x', contnet: {} },
      'team.contnet',
      'is no setting of a destination with the provider otlp; did you mean content?',
    ],
    ['an unknown provider', { provider: 'honycomb' }, 'team.provider', 'did you mean honeycomb?'],
    [
      'a member of another provider',
      { provider: 'honeycomb', api_key: 'k', headers: 'a=b' },
      'team.headers',
      'is no setting of a destination with the provider honeycomb',
    ],
    ['an address that is none', { endpoint: 'team:4318' }, 'team.endpoint', 'is not an http:// or https:// address'],
    [
      'an unknown signal',
      { endpoint: 'http://x', signals: ['spans'] },
      'team.signals',
      'does not fit (traces, metrics, logs)',
    ],
    [
      'an unknown class',
      { endpoint: 'http://x', content: { promt: 'off' } },
      'team.content.promt',
      'is no class of content; did you mean prompt?',
    ],
    [
      'an unknown mode',
      { endpoint: 'http://x', content: { prompt: 'none' } },
      'team.content.prompt',
      'is none of off, hash, redacted, full',
    ],
    ['a share above 1', { endpoint: 'http://x', sampler_arg: 10 }, 'team.sampler_arg', 'does not fit'],
  ])('%s leaves the destination out and names the place', (_, team, place, why) => {
    const found = from({ provider: 'otlp', destinations: { team, mine: { endpoint: 'http://mine' } } });
    expect(found.destinations.map(each => each.name)).toEqual([undefined, 'mine']);
    const [problem, ...more] = found.problems;
    expect(more).toEqual([]);
    expect(problem).toMatchObject({ code: 'config-value', key: `destinations.${place}`, file: '/g/config.json' });
    expect(problem).toMatchObject({ why: expect.stringContaining(why), used: 'nothing (the destination is left out)' });
    expect((problem as { line?: number }).line).toBeGreaterThan(2);
  });

  it.each(['Team', 'otlp', 'honeycomb', '-x', 'a b', ''])('the name %j is refused', name => {
    const found = from({ destinations: { [name]: { endpoint: 'http://x' } } });
    expect(found.destinations).toEqual([]);
    expect(found.problems).toMatchObject([{ code: 'config-value', key: `destinations.${name}` }]);
  });

  it('a destination without an address, or without its key, names what it needs', () => {
    const { destinations, problems } = from({ destinations: { team: {}, theirs: { provider: 'honeycomb' } } });
    expect(destinations).toEqual([]);
    expect(problems).toEqual([
      { code: 'provider-incomplete', provider: 'otlp', key: 'destinations.team.endpoint' },
      { code: 'provider-incomplete', provider: 'honeycomb', key: 'destinations.theirs.api_key' },
    ]);
  });

  it('a value other than an object is a problem', () => {
    expect(from({ destinations: ['team'] }).problems).toMatchObject([{ code: 'config-value', key: 'destinations' }]);
    expect(from({ destinations: { team: 'http://x' } }).problems).toMatchObject([{ key: 'destinations.team' }]);
  });

  it('a project needs consent to name one', () => {
    const text = '{"destinations": {"theirs": {"endpoint": "https://me:pw@theirs", "headers": {"k": "sekrit"}}}}';
    const project = { file: '/p/.otel-hooks.json', text, trusted: false };
    const found = from({ destinations: { team: { endpoint: 'https://a' } } }, {}, { project });
    expect(found.destinations.map(each => each.name)).toEqual(['team']);
    expect(found.problems).toMatchObject([{ code: 'config-untrusted', key: 'destinations' }]);
    expect(found.config.beyond).toMatchObject([
      { key: 'destinations', value: expect.stringContaining('https://theirs') },
    ]);
    expect(JSON.stringify(found.config.beyond)).not.toMatch(/pw|sekrit/);
  });

  it('no secret is shown', () => {
    const { config } = from({
      destinations: {
        team: { endpoint: 'https://u:pw@a/?t=q', headers: { k: 'sekrit' } },
        h: { provider: 'honeycomb', api_key: 'sekrit' },
      },
    });
    const value = config.values.destinations;
    expect(shownJson('destinations', value)).toEqual({
      team: { endpoint: 'https://a', headers: 'k=***' },
      h: { provider: 'honeycomb', api_key: '***' },
    });
    expect(shownValue('destinations', value)).not.toMatch(/pw|sekrit|t=q/);
    const bad = from({ destinations: { team: { endpoint: 'sekrit', headers: 'sekrit' } } });
    expect(bad.problems.length).toBe(2);
    expect(JSON.stringify(bad.problems)).not.toContain('sekrit');
  });

  it('no exporter and no signal of the environment is sent against its word', () => {
    const file = { destinations: { team: { endpoint: 'http://x' } } };
    expect(shown(from(file, { OTEL_LOGS_EXPORTER: 'none' }))).toEqual(['team otlp http://x traces+metrics']);
    expect(shown(from(file, { OTEL_SDK_DISABLED: 'true' }))).toEqual([]);
  });

  it('content that is wider than the global setting is a problem, and the global setting counts', () => {
    const content = { prompt: 'full', response: 'off' };
    const { problems } = from({
      content: { prompt: 'redacted' },
      destinations: { team: { endpoint: 'http://x', content } },
    });
    const expected: Problem = {
      ...{ code: 'config-value', key: 'destinations.team.content.prompt', file: '/g/config.json', value: '"full"' },
      ...{ why: 'is wider than content.prompt, which holds for all destinations', used: 'redacted' },
    };
    expect(problems).toEqual([expected]);
  });

  it.each<[string, string[], string[]]>([
    ['team', ['team'], []],
    ['otlp', ['team', 'mine'], []],
    ['honeycomb', ['h'], []],
    ['team,h', ['team', 'h'], []],
    ['langfuse', [], ['provider-incomplete', 'provider-incomplete']],
    ['taem', [], ['provider-unknown']],
  ])('--provider %s', (asked, names, codes) => {
    const config = configOf({
      destinations: {
        team: { endpoint: 'http://team' },
        mine: { endpoint: 'http://mine' },
        h: { provider: 'honeycomb', api_key: 'k' },
      },
    });
    const found = destinationsFor(config, asked);
    expect(found.destinations.map(each => each.name)).toEqual(names);
    expect(found.problems.map(each => each.code)).toEqual(codes);
  });

  it('the published schema describes them', () => {
    const schema = JSON.stringify(jsonSchema());
    expect(schema).toContain('"destinations"');
    for (const member of [...membersOf('otlp'), ...membersOf('grafana-cloud')]) expect(schema).toContain(`"${member}"`);
  });
});
