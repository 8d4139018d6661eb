import { expect, it } from 'vitest';
import { resolve } from '../../src/config/config.ts';
import { destinationsOf } from '../../src/config/destinations.ts';
import { exposuresOf } from '../../src/config/exposures.ts';

function codes(file: object, env: Record<string, string> = {}): string[] {
  const input = { global: { file: '/g/config.json', text: JSON.stringify(file) }, env: {}, home: '/h', cwd: '/w' };
  return exposuresOf(destinationsOf(resolve(input)).destinations, env).map(({ code }) => code);
}
const otlp = (endpoint: string): object => ({ provider: 'otlp', otlp: { endpoint } });

it.each([
  ['http://collector.example.com:4318', ['endpoint-cleartext']],
  ['http://203.0.113.7:4318', ['endpoint-cleartext']],
  ['http://[2001:db8::1]:4318', ['endpoint-cleartext']],
  ['https://collector.example.com', []],
  ['http://localhost:4318', []],
  ['http://127.0.0.1:4318', []],
  ['http://[::1]:4318', []],
  ['http://10.1.2.3:4318', []],
  ['http://192.168.1.5:4318', []],
  ['http://collector:4318', []],
  ['http://collector.monitoring.svc.cluster.local:4318', []],
])('OTLP to %s: %j', (endpoint, expected) => {
  expect(codes(otlp(endpoint))).toEqual(expected);
});

it('events for an external receiver need TLS and a signature', () => {
  expect(codes({ hooks: { endpoint: 'http://events.example.com/' } })).toEqual([
    'endpoint-cleartext',
    'endpoint-unsigned',
  ]);
  expect(codes({ hooks: { endpoint: 'https://events.example.com/', sign_key: '/k.pem' } })).toEqual([]);
  expect(codes({ hooks: { endpoint: 'http://127.0.0.1:9000/' } })).toEqual([]);
});

it('the secret of a client needs TLS to its token server', () => {
  const oauth = (url: string): object => ({
    provider: 'otlp',
    otlp: { endpoint: 'https://a.example.com', oauth_token_url: url, oauth_client_id: 'c', oauth_client_secret: 's' },
  });
  expect(codes(oauth('http://login.example.com/token'))).toEqual(['endpoint-cleartext']);
  expect(codes(oauth('https://login.example.com/token'))).toEqual([]);
  expect(codes(oauth('http://127.0.0.1:8080/token'))).toEqual([]);
});

it('a connection string of Application Insights leads to the collector, until the collector is configured', () => {
  const env = { APPINSIGHTS_CONNECTION_STRING: 'InstrumentationKey=0;IngestionEndpoint=https://a.example.com/' };
  const [problem] = exposuresOf([], env);
  expect(problem).toMatchObject({
    ...{ code: 'variable-unsupported', variable: 'APPINSIGHTS_CONNECTION_STRING' },
    instead: expect.stringContaining('collector-config/azure-monitor.yaml'),
  });
  expect(JSON.stringify(problem)).not.toContain('InstrumentationKey');
  expect(codes({ provider: 'azure-monitor', azure_monitor: { endpoint: 'http://127.0.0.1:4318' } }, env)).toEqual([]);
});
