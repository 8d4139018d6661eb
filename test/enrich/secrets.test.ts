import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { riskOf } from '../../src/enrich/risk/risk.ts';
import { secretKinds } from '../../src/enrich/secrets/kinds.ts';
import { holdsSecret, secretRules, withoutSecrets } from '../../src/enrich/secrets.ts';
import { samplesOf, secretLike, secretsOf } from './secret-samples.ts';

const ways: ((secret: string) => string)[] = [
  secret => secret,
  secret => `Use ${secret} for that, please.`,
  secret => `KEY=${secret}\nOTHER=1`,
  secret => JSON.stringify({ headers: { 'x-thing': secret }, list: [secret] }),
  secret => `curl -H 'X-Thing: ${secret}' https://api.example.com/v1?a=${secret}`,
  secret => `${'a '.repeat(5_000)}\n${secret}\n`,
];

describe('secrets in texts', () => {
  it('have more than forty kinds, each with its own name', () => {
    expect(secretKinds.length).toBeGreaterThanOrEqual(40);
    expect(new Set(secretKinds.map(kind => kind.id)).size).toBe(secretKinds.length);
    for (const { id, like, hints } of secretKinds) {
      expect(hints.length, id).toBeGreaterThan(0);
      expect(secretsOf(1).find(each => each.id === id)?.secret, `${id} is no placeholder`).not.toBe(like);
    }
  });

  it.each(secretKinds.map(kind => [kind.id, kind] as const))('%s: found at any position', (id, { like }) => {
    fc.assert(
      fc.property(fc.infiniteStream(fc.nat(1_000_000)), fc.nat(ways.length - 1), (numbers, way) => {
        const secret = secretLike(like, below => (numbers.next().value ?? 0) % below);
        // A text with so few characters may contain them by chance.
        const text = (ways[way] ?? String)(secret);
        const left = withoutSecrets(text);
        const body = secret.split('\n').find(line => line.length > 15 && !line.startsWith('-----')) ?? secret;
        expect(left).not.toContain(body);
        expect(left).toContain('[redacted:');
      }),
      { numRuns: 12 },
    );
    const secret = secretsOf(7).find(each => each.id === id)?.secret ?? '';
    expect(withoutSecrets(`Use ${secret} now`)).toBe(
      `Use ${id === 'azure-signature' ? '?sv=1&sig=' : ''}[redacted:${id}]${id === 'putty-key' ? '' : ' '}now`,
    );
  });

  it('are also found by risk', () => {
    const missed = secretsOf(3).filter(({ secret }) => {
      const risk = riskOf({
        action: { name: 'write_file', input: { file_path: 'a.txt', content: `x = "${secret}"` } },
      });
      return !risk?.factors?.includes('SECRET_PATTERN');
    });
    expect(missed.map(({ id }) => id)).toEqual([]);
  });

  it.each([
    ['postgres://admin:hunter22@db.example.com/shop', 'postgres://admin:[redacted:password]@db.example.com/shop'],
    ['Authorization: Bearer abc123def456ghi', 'Authorization: Bearer [redacted:authorization]'],
    ['Authorization: Basic YWxhZGRpbjpvcGVuc2VzYW1l1=', 'Authorization: Basic [redacted:authorization]'],
    ['curl -u admin:hunter22 https://x.example', 'curl -u admin:[redacted:password] https://x.example'],
    ['export DB_PASSWORD=hunter22', 'export DB_PASSWORD=[redacted:secret]'],
    ['{"api_key": "hunter22x"}', '{"api_key": "[redacted:secret]"}'],
    ['mysql --password hunter22 shop', 'mysql --password [redacted:secret] shop'],
    ['client_secret: hunter-twenty-two', 'client_secret: [redacted:secret]'],
    ['docker login -u ana -p hunter22 r.example', 'docker login -u ana -p [redacted:password] r.example'],
    ['mysql -h db -uroot -phunter22 shop', 'mysql -h db -uroot -p[redacted:password] shop'],
    ['redis-cli -h h -a hunter22 ping', 'redis-cli -h h -a [redacted:password] ping'],
    ["sshpass -p'hunter22' ssh a@b", "sshpass -p'[redacted:password]' ssh a@b"],
    ['openssl enc -pass pass:hunter22 -in a', 'openssl enc -pass pass:[redacted:password] -in a'],
    ['echo hunter22 | sudo -S ls', 'echo [redacted:password] | sudo -S ls'],
    ['tool --password correcthorse x', 'tool --password [redacted:secret] x'],
    ['tool --api-key=correcthorse x', 'tool --api-key=[redacted:secret] x'],
    ['password = "correct horse battery"', 'password = "[redacted:secret]"'],
    ['DB_PASSWORD="p@ss(word)1"', 'DB_PASSWORD="[redacted:secret]"'],
    ['DB_PASSWORD=p@s', 'DB_PASSWORD=[redacted:secret]'],
    ['PGPASSWORD=p@s psql', 'PGPASSWORD=[redacted:secret] psql'],
    ['SSHPASS=hunter22 sshpass -e ssh db', 'SSHPASS=[redacted:secret] sshpass -e ssh db'],
    ['BYPASS=always COMPASS=north', 'BYPASS=always COMPASS=north'],
    ['{\\"password\\":\\"hunter22\\"}', '{\\"password\\":\\"[redacted:secret]\\"}'],
    ['Uid=sa;Pwd=Hunter22!;Database=x', 'Uid=sa;Pwd=[redacted:secret];Database=x'],
    ['<password>hunter22</password>', '<password>[redacted:secret]</password>'],
    ['<add key="ApiSecret" value="hunter22"/>', '<add key="ApiSecret" value="[redacted:secret]"/>'],
    ['db.example.com:5432:shop:app:hunter22', 'db.example.com:5432:shop:app:[redacted:password]'],
    ['{"auths":{"r":{"auth":"YW5hOmh1bnRlcjIy"}}}', '{"auths":{"r":{"auth":"[redacted:secret]"}}}'],
    ['Authorization: Bearer abcdefghijklmnop', 'Authorization: Bearer [redacted:authorization]'],
    ['Cookie: sid=abcdefghijkl; theme=dark', 'Cookie: sid=[redacted:authorization]; theme=dark'],
    ['hmac_key: 4e043e157a20e0d500c212df33b4634d', 'hmac_key: [redacted:secret]'],
    ['as 9IH5FI9/Au1VQzP9tUIHb38guK3+hyjFFjfP0xt0 it', 'as [redacted:random] it'],
    ['mail to ada.lovelace@example.com now', 'mail to [redacted:email] now'],
    ['/home/ada/src/cart.ts and /Users/ada/x', '~/src/cart.ts and ~/x'],
    ['C:\\Users\\Ada\\cart.ts', '~\\cart.ts'],
    ['key q9Zk7vW3x8Lm2Pq5rT6yU1oN4bV0', 'key [redacted:random]'],
    [`APP_KEY=base64:${'aB3/'.repeat(11)}`, 'APP_KEY=base64:[redacted:secret]'],
    ['machine h.example login ana password correcthorse', 'machine h.example login ana password [redacted:password]'],
    ['machine h.example\n\tpassword correcthorse', 'machine h.example\n\tpassword [redacted:password]'],
    ["define('DB_PASSWORD', 'horse');", "define('DB_PASSWORD', '[redacted:secret]');"],
    ['ldapsearch -x -D cn=ana -w horse -b dc=b', 'ldapsearch -x -D cn=ana -w [redacted:password] -b dc=b'],
    ['smbclient //h/share -U ana%horse -c ls', 'smbclient //h/share -U ana%[redacted:password] -c ls'],
    ['Cookie: theme=dark; sid=abcdefghijkl', 'Cookie: theme=dark; sid=[redacted:authorization]'],
    ['{"a":"DB=x\\nPASS=hunter\\nPORT=80"}', '{"a":"DB=x\\nPASS=[redacted:secret]\\nPORT=80"}'],
    ['{"a":"x\\nmysql -phunter22 shop"}', '{"a":"x\\nmysql -p[redacted:password] shop"}'],
    ['{"a":"x\\nh:5432:shop:app:hunter"}', '{"a":"x\\nh:5432:shop:app:[redacted:password]"}'],
    ['{"a":"x\\nCookie: sid=abcdefghijkl"}', '{"a":"x\\nCookie: sid=[redacted:authorization]"}'],
    ['{"password":"a\\"b,c\\\\d"}', '{"password":"[redacted:secret]"}'],
    ['the password for db is horse7battery', 'the password for db is [redacted:secret]'],
    ['["curl","--token","correcthorse"]', '["curl","--token","[redacted:secret]"]'],
    ['grep: \u001b[31mAKIA\u001b[0m' + 'A1B2C3D4E5F6G7H8', 'grep: \u001b[31m[redacted:aws]'],
    ['ada%40example.com', '[redacted:email]'],
    [
      'kind: Secret\nmetadata:\n  name: shop\nstringData:\n  user: ana\n  tls: |\n    one\n    two\ntype: Opaque',
      'kind: Secret\nmetadata:\n  name: shop\nstringData:\n  user: [redacted:kubernetes-secret]\n  tls: [redacted:kubernetes-secret]\ntype: Opaque',
    ],
  ])('%s', (text, left) => {
    expect(withoutSecrets(text)).toBe(left);
  });

  it.each([
    'const token = getToken(user);',
    'password: string;',
    'const pass = await runTests(); bypass: x, compass: north',
    'PASS src/cart1.test.ts (5.2 s)',
    'git log -p --token-file t; mysql -P 3306 shop; docker run -p 8080:80 nginx',
    'the primary key: idOfTheCart; monkey: banana1234',
    'src/app.ts:12:34: error: no such name',
    'node_modules/react/dist/cjs/index/production/mins',
    'max_tokens: 4096, tokens: 128',
    'token = process.env.GITHUB_TOKEN',
    'echo $GITHUB_TOKEN and $API_KEY',
    'git show 3f2a9b1c4d5e6f708192a3b4c5d6e7f801234567',
    'session 123e4567-e89b-12d3-a456-426614174000',
    'import { ReadableLogRecordAndSomeMoreWords2 } from "somewhere";',
    'http://127.0.0.1:4318/v1/traces',
    'src/components/ShoppingCartCheckoutButton.test.tsx',
    'sk-learn is a library; ghp_ is a prefix; AKIA alone is none',
    'a-very-long-branch-name-with-many-words-and-2-digits',
    'the key-value store, risk-based, task-list',
    'npm install left-pad@1.3.0 react@18.2.0-rc.beta @types/node@20.11.x foo@v2.0.0-next.tag',
    'git clone git@github.com:acme/shop.git',
    'uses: actions/checkout@v4.1.1; <img src="logo@2x.png">',
    'PWD=/srv/shop OLDPWD=/work {"pwd":"/srv/shop"}',
    'use basic-auth-middleware2 or bearer-token-parser3, basic usage/example-1',
    'private token: CancellationToken; constructor(secret: ClientSecretCredential)',
    'https://registry.npmjs.org/left-pad/-/left-pad-1.3.0.tgz#sha1-' + 'W4o6d2Xf4AEmHd6RVYnngvjJTR4=',
    'kind: ConfigMap\ndata:\n  user: ana',
    'grep "BEGIN RSA PRIVATE KEY" -r src; echo "-----BEGIN RSA PRIVATE KEY-----"',
    'login page, password reset; the password is required; the token is valid-ish',
  ])('keeps a text without secrets: %s', text => {
    expect(withoutSecrets(text)).toBe(text);
  });

  it('are removed by the first pass: a second one changes nothing', () => {
    for (const { secret } of secretsOf(5)) {
      const once = withoutSecrets(`a ${secret} b`);
      expect(withoutSecrets(once)).toBe(once);
    }
  });

  it('include the patterns of the user, and exclude what the user allows', () => {
    const own = {
      find: (text: string) => [...text.matchAll(/ACME-\d+/g)].map(m => [m.index, m.index + m[0].length] as const),
      isAllowed: (secret: string) => secret.endsWith('@example.org') || secret === 'ACME-7',
    };
    expect(withoutSecrets('ACME-1 ACME-7 a@example.org a@example.com', own)).toBe(
      '[redacted:own] ACME-7 a@example.org [redacted:email]',
    );
  });

  it('are also found in names', () => {
    for (const { id, secret } of secretsOf(9)) if (!secret.includes('\n')) expect(holdsSecret(secret), id).toBe(true);
    for (const name of ['Bash', 'mcp__github__create_issue', 'toolu_01A09q90qw90lq917835lq9', 'claude-sonnet-4-5'])
      expect(holdsSecret(name), name).toBe(false);
  });
});

describe('the rules of secrets', () => {
  /** Repeated beginnings of secrets: a rule that backtracks is slow on them. */
  const seeds = [
    ...[
      'a',
      ' ',
      '\n',
      '"',
      '\\',
      'a.',
      'a-',
      'a:',
      'a=',
      '1:',
      '/a',
      'password',
      'password:',
      'key = "',
      "='",
      'eyJ',
      '://',
    ],
    ...[
      'mysql ',
      'mysql -',
      'cookie: a=',
      'machine a ',
      'A_',
      '\\\\',
      '%0A',
      '\u001b[',
      '&lt;',
      'data:\n a: b\n',
      'a@a.',
      'token "',
    ],
  ];
  const timed = (pattern: RegExp, text: string): number => {
    const since = process.cpuUsage();
    for (const _ of text.matchAll(pattern));
    return process.cpuUsage(since).user / 1_000;
  };

  it('take a time that grows with the text, not faster', () => {
    const slow: string[] = [];
    for (const { id, pattern } of secretRules) {
      const own = samplesOf(31).flatMap(({ id: of, text }) =>
        of === id ? [text.slice(0, -1), text.slice(0, text.length / 2)] : [],
      );
      for (const seed of [...seeds, ...own]) {
        const [short = '', long = ''] = [8, 64].map(kb => seed.repeat(Math.ceil((kb * 1_024) / seed.length)));
        // The first run compiles the pattern; the better of two counts on a busy machine.
        const before = Math.min(timed(pattern, short), timed(pattern, short));
        if (before < 1) continue;
        const ratio = Math.min(timed(pattern, long), timed(pattern, long)) / before;
        if (ratio > 24)
          slow.push(
            `${id} ${pattern.source.slice(0, 60)} on ${JSON.stringify(seed).slice(0, 60)}: ${ratio.toFixed(0)}x`,
          );
      }
    }
    expect(slow).toEqual([]);
  }, 120_000);
});
