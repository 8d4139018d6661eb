import { describe, expect, it } from 'vitest';
import { directAddresses, proxiesOf, proxyFor } from '../../src/config/proxies.ts';

const through = (url: string, env: Record<string, string>, values = {}): string => {
  const found = proxyFor(new URL(url), proxiesOf(values, env));
  if (found === undefined) return 'direct';
  return 'url' in found ? found.url.href : `${found.from}: ${found.why}`;
};

describe('the proxy of a request', () => {
  it.for([
    ['http://a.example/', { HTTP_PROXY: 'http://p:1' }, 'http://p:1/'],
    ['http://a.example/', { http_proxy: 'http://low:1', HTTP_PROXY: 'http://up:1' }, 'http://low:1/'],
    ['http://a.example/', { HTTPS_PROXY: 'http://p:1' }, 'direct'],
    ['https://a.example/', { HTTPS_PROXY: 'http://p:1', HTTP_PROXY: 'http://q:1' }, 'http://p:1/'],
    ['https://a.example/', { https_proxy: 'https://p:1' }, 'https://p:1/'],
    ['https://a.example/', { ALL_PROXY: 'http://p:1' }, 'http://p:1/'],
    ['https://a.example/', { all_proxy: 'http://p:1', HTTPS_PROXY: 'http://q:1' }, 'http://q:1/'],
    ['https://a.example/', { HTTPS_PROXY: '' }, 'direct'],
    ['https://a.example/', { HTTPS_PROXY: 'p:3128' }, 'http://p:3128/'],
    ['https://a.example/', { HTTPS_PROXY: 'user:secret@p:3128' }, 'http://user:secret@p:3128/'],
    ['https://a.example/', { HTTPS_PROXY: 'socks5://p:1' }, 'HTTPS_PROXY: socks5 proxies are not supported'],
    ['https://a.example/', { HTTPS_PROXY: 'http://[' }, 'HTTPS_PROXY: its value is not an address'],
    // A web server sets HTTP_PROXY from the header `Proxy` of any request.
    ['http://a.example/', { HTTP_PROXY: 'http://p:1', REQUEST_METHOD: 'POST' }, 'direct'],
    ['http://a.example/', { http_proxy: 'http://p:1', REQUEST_METHOD: 'POST' }, 'http://p:1/'],
  ] as const)('%s with %j: %s', ([url, env, expected]) => {
    expect(through(url, env)).toBe(expected);
  });

  it.for([
    'http://localhost:4318/',
    'http://otel.localhost/',
    'http://127.0.0.1:4318/',
    'https://127.8.9.10/',
    'http://[::1]:4318/',
    'http://[::ffff:127.0.0.1]/',
    'http://LOCALHOST./',
  ])('is none for %s', url => {
    expect(through(url, { ALL_PROXY: 'http://p:1' })).toBe('direct');
  });

  it('comes from the global file before the variables', () => {
    const env = { HTTPS_PROXY: 'http://p:1', NO_PROXY: '*' };
    const values = { 'proxy.url': 'http://own:1', 'proxy.direct': ['b.example'] };
    expect(through('https://a.example/', env, values)).toBe('http://own:1/');
    expect(through('http://a.example/', env, values)).toBe('http://own:1/');
    expect(through('https://b.example/', env, values)).toBe('direct');
  });
});

describe('an address without a proxy', () => {
  it.for([
    ['example.com', 'example.com', true],
    ['example.com', 'a.example.com', true],
    ['example.com', 'anexample.com', false],
    ['.example.com', 'example.com', true],
    ['.example.com', 'a.b.example.com', true],
    ['EXAMPLE.com', 'example.com', true],
    ['example.com.', 'example.com', true],
    ['*.example.com', 'a.example.com', true],
    ['*.example.com', 'example.com', false],
    ['otel-*.corp', 'otel-1.corp', true],
    ['otel-*.corp', 'otel-1.corp.evil', false],
    ['*', 'anything.example', true],
    ['a.example, b.example', 'b.example', true],
    ['a.example b.example', 'b.example', true],
    ['example.com:4318', 'example.com:4318', true],
    ['example.com:4318', 'example.com:4317', false],
    ['example.com:443', 'example.com', true],
    ['10.0.0.1', '10.0.0.1', true],
    ['10.0.0.1', '10.0.0.11', false],
    ['10.0.0.0/8', '10.200.3.4', true],
    ['10.0.0.0/8', '11.0.0.1', false],
    ['10.*', '10.1.2.3', true],
    ['10.0.0.0/8', '10.example.com', false],
    ['2001:db8::1', '[2001:db8::1]', true],
    ['[2001:db8::1]', '[2001:db8::1]', true],
    ['[2001:db8::1]:4318', '[2001:db8::1]:4318', true],
    ['[2001:db8::1]:4318', '[2001:db8::1]:1', false],
    ['2001:db8::/32', '[2001:db8:1::5]', true],
    ['2001:db8::/32', '[2001:db9::5]', false],
    ['', 'example.com', false],
    ['10.0.0.0/99', '10.0.0.1', false],
    ['(a+)+$', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.example', false],
  ] as const)('%s and %s: %s', ([list, host, isDirect]) => {
    const found = through(`https://${host}/`, { HTTPS_PROXY: 'http://p:1', NO_PROXY: list });
    expect(found === 'direct').toBe(isDirect);
  });

  it('is found in linear time', () => {
    const [pattern] = directAddresses('*a'.repeat(20));
    expect(pattern?.holds(`${'a'.repeat(200)}b`)).toBe(false);
  });
});
