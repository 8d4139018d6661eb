/**
 * Harmless texts that look like secrets, generated during the test. `{w20}` stands for 20 characters of a class, as in
 * the table of kinds.
 */
import { randomFrom, secretLike } from './secret-samples.ts';

const UUID = '{h8}-{h4}-4{h3}-a{h3}-{h12}';

export const negativeKinds: { readonly [kind: string]: readonly string[] } = {
  UUIDs: [UUID, `session_id: ${UUID}`, `"id":"${UUID}"`, `/v1/items/${UUID}/parts`, `urn:uuid:${UUID}`],
  digests: [
    ...['md5 {h32}', 'sha256:{h64}', '{h40}', '{h128}  dist/app.tar.gz', 'ETag: "{h32}"', 'checksum = "{h64}"'],
    ...['shop@sha256:{h64}', 'Digest: sha256:{h64}', 'crc32 {h8}', '10c0/{h128}'],
  ],
  'commits of git': [
    ...['commit {h40}', 'git checkout {h7}', 'index {h7}..{h7} 100644', 'Merge: {h7} {h7}', '{h40} refs/heads/main'],
    ...['https://github.com/acme/shop/commit/{h40}', 'v1.4.2-12-g{h8}', 'git+https://github.com/acme/shop.git#{h40}'],
  ],
  'images and fonts in base64': [
    'data:image/png;base64,iVBORw0KGgo{w180}=',
    'src="data:image/svg+xml;base64,PHN2ZyB4{w120}"',
    'url(data:font/woff2;charset=utf-8;base64,d09GMgAB{w160}==)',
  ],
  versions: [
    ...['left-pad@1.3.0', 'react-dom@18.3.0-canary-{h9}-20240{d3}', '"typescript": "^5.9.3"', 'node v20.20.0 (x64)'],
    ...['go1.22.{d1}', 'python-3.11.7-amd64', 'eslint@8.57.0_supports-color@9.4.0', '1.0.0-beta.{d2}+build.{d6}'],
    ...['v0.0.0-20240118{d6}-{h12}', 'nginx:1.27.{d1}-alpine3.20', 'openjdk version "21.0.{d1}" 2024-04-16'],
  ],
  'names of packages': [
    ...[
      '@types/react-dom',
      'basic-auth-middleware2',
      'bearer-token-parser3',
      'passport-http-bearer',
      'jsonwebtoken@9.0.2',
    ],
    ...['token-types@6.0.0', 'npm i password-prompt@1.1.3 secret-handshake@1.1.21', 'pip install python-dotenv==1.0.1'],
    ...['org.springframework.security:spring-security-oauth2-jose:6.3.1', 'github.com/golang-jwt/jwt/v5 v5.2.1'],
  ],
  'lines of lock files': [
    'integrity sha512-{w86}==',
    '"integrity": "sha512-{w40}/{w20}+{w24}==",',
    'github.com/spf13/cobra v1.8.1 h1:{w20}/{w22}=',
    '    {file = "idna-3.7-py3-none-any.whl", hash = "sha256:{h64}"},',
    'resolved "https://registry.npmjs.org/left-pad/-/left-pad-1.3.0.tgz#{h40}"',
    'checksum: 10c0/{h64}',
    'sha1-{w27}=',
  ],
  paths: [
    ...[
      '/srv/shop/src/components/ShoppingCartCheckoutButton.test.tsx',
      'node_modules/.pnpm/left-pad@1.3.0/node_modules/left-pad',
    ],
    ...['PWD=/srv/shop', 'OLDPWD=/srv/shop/packages', 'dist/assets/index-{w8}.js', '/nix/store/{h32}-openssl-3.0.14'],
    ...[
      '.next/static/chunks/{d4}-{h16}.js',
      'C:\\Windows\\System32\\drivers\\etc\\hosts',
      'PASSWORD_FILE=/run/secrets/db_password',
    ],
    ...[
      'token_file: /var/run/secrets/token',
      'src/auth/password-reset/ResetPasswordForm2.tsx',
      './tests/fixtures/basic1/token.json',
    ],
    ...[
      'docs/2024-01-18-api-key-rotation-guide-part-2.md',
      'src/app.ts:1234:56: error TS2345',
      'git@github.com:acme/shop.git',
    ],
  ],
  'classes of CSS': [
    ...[
      'class="css-1q2w3e4-MuiButton-root hover:bg-blue-500/75"',
      'Button_root__x7Gh2',
      'sc-{a6} {w6}',
      'md:grid-cols-[1fr_500px_2fr]',
    ],
    ...['.makeStyles-container-{d3}', 'tw-flex-1-0-auto--2xl', 'jss{d3} jss{d3} jss{d3}', 'data-v-{h8}'],
  ],
  'code that speaks of secrets': [
    ...[
      'const token = getToken(user);',
      'password: string;',
      'private token: CancellationToken;',
      'apiKey: process.env.API_KEY,',
    ],
    ...[
      'if (!password) throw new Error("no password");',
      'secret := os.Getenv("SECRET")',
      'def login(password: str) -> None:',
    ],
    ...['token = request.headers["authorization"]', 'max_tokens: 4096', 'export const TOKEN_KEY = TokenKind.Access;'],
    ...[
      'password=\u0024{DB_PASSWORD}',
      'API_KEY=<your key>',
      'secret: \u0024{{ secrets.NPM }}',
      'token: "{{ .Values.token }}"',
      'PASSWORD=changeme',
    ],
    ...[
      'Authorization: Bearer $TOKEN',
      'curl -u "$USER:$PASS" https://x.example',
      'mysql -p$PASS shop',
      'password: null',
    ],
    ...[
      'PASS src/cart1.test.ts (5.2 s)',
      'the password is required',
      'tokens used: 128000',
      'primary key: idOfTheCart',
    ],
    ...[
      'docker run -p 8080:80 nginx',
      'kind: ConfigMap\ndata:\n  user: ana',
      'redis://localhost:6379/0',
      'postgres://db.example.com/shop',
    ],
    ...[
      '-----BEGIN RSA PRIVATE KEY-----" is how one begins',
      'PasswordResetTokenExpiredException2',
      'skip-worktree, task-list-item-2',
    ],
  ],
  'public keys and certificates': [
    'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{w43} ana',
    'ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ{w340}= ana',
    '-----BEGIN CERTIFICATE-----\nMIID{w60}\n{w64}\n-----END CERTIFICATE-----',
    '-----BEGIN PUBLIC KEY-----\nMIIB{w60}\n-----END PUBLIC KEY-----',
    'SHA256:{w43} ana@shop (ED25519)',
  ],
  'ids and numbers': [
    ...[
      'trace {h32} span {h16}',
      '00-{h32}-{h16}-01',
      '2026-11-18T20:22:47.586Z',
      'i-0{h16}',
      'arn:aws:iam::{d12}:role/shop-deploy',
    ],
    ...[
      'vpc-0{h16} subnet-0{h16}',
      'phone +49 30 {d8}',
      '0x{h40}',
      'dns TXT v=spf1 include:_spf.example.com ~all',
      '{d10} {d13}',
    ],
    ...[
      'AKIA is how keys begin; ghp_ is a prefix; sk-learn is a library',
      'ISBN 978-3-16-148410-0',
      'IPv6 2001:db8:85a3::8a2e:370:7334',
    ],
  ],
  'addresses that are not e-mail': [
    ...[
      '<img src="logo@2x.png">',
      'uses: actions/checkout@v4.1.1',
      'ssh://git@github.com/acme/shop',
      'user@{d2}.0.0.5',
      '@media (min-width: 40em)',
    ],
    ...['foo@latest', 'git@gitlab.example.org:group/shop.git', '@scope/pkg@2.0.0-rc.1'],
  ],
};

/** Texts of each form, the same in each run. */
export function negativesOf(seed: number, each = 3): { kind: string; text: string }[] {
  const random = randomFrom(seed);
  return Object.entries(negativeKinds).flatMap(([kind, likes]) =>
    likes.flatMap(like => {
      const isDrawn = /\{[A-Za-z]\d+\}/.test(like);
      return Array.from({ length: isDrawn ? each : 1 }, () => ({ kind, text: secretLike(like, random) }));
    }),
  );
}
