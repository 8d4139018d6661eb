/**
 * Secrets that a name, a header, a command or a position marks. The mark stays in the text. Each quantifier is bounded,
 * so that no text makes a rule slow.
 */
import { START } from './kinds.ts';

export interface MarkedKind {
  readonly id: string;
  /** A fast test: a text without a match holds no such secret. Neighbours with the same pattern share the test. */
  readonly isNear: RegExp;
  /** The first group stays; the last group is the secret. */
  readonly pattern: RegExp;
  /** For several values in the last group: group 1 of this pattern stays, group 2 is a secret. */
  readonly within?: RegExp;
  /** Returns true for a match that is not a secret. */
  isNone?(secret: string, next: string): boolean;
  /** Samples in the form of kinds.ts; the first braces are the secret. */
  readonly likes: readonly string[];
}

/** Names whose value is a secret. */
const NAMED =
  '(?:secret|token|passw(?:or[dt]|d)|passphrase|passcode|(?<![a-z])(?:pass|pwd|pw)|_pass|_pwd|api[_-]?key|' +
  '(?:private|access|secret|encryption|master|signing|session|service|auth|hmac|license|storage|shared|preshared|' +
  'subscription|functions)[_-]?key|credentials?)(?<!\\[redacted:[\\w-]{0,20})';
const GIVEN = '\\s{0,3}(?:=>|:=|[:=])\\s{0,3}';
/** A command up to an option, within its line. */
const WORDS = '(?:[ \\t]{1,40}[^\\s|;&]{1,200}){0,20}?';
const NEAR = /secret|token|passw|passphrase|passcode|pass|pwd|\bpw|api.?key|[a-z].?key|credential/i;
/** The gap between words of a file, also in a quoted file or a diff. */
const GAP = '[\\s+>|-]{1,40}';
/**
 * Characters of a value without quotes. An escape ends the value, since another line or the end of the text follows.
 */
const bare = (without: string): string => `(?:[^\\s\\\\${without}]|\\\\(?![nrtu"'\`\\\\/]))`;
const LOOSE = bare('"\'`,;&<>(){}');
const WORD = bare('"\'`$<');

const option = (commands: string, options: string, like: string): MarkedKind => ({
  id: 'password',
  isNear: new RegExp(commands),
  pattern: new RegExp(`(${START}(?:${commands})${WORDS}[ \\t]+(?:${options})["']?)(?![-$<])(${WORD}{3,256})`, 'g'),
  likes: [like],
});

export const markedKinds: readonly MarkedKind[] = [
  {
    id: 'password',
    isNear: /:\/\//,
    pattern: new RegExp(
      `(${START}[a-z][a-z0-9+.-]{1,20}:\\/\\/[^/:@\\s"'\\\\]{0,128}:)([^/@\\s"'$<{][^/@\\s"']{2,256})(?=@)`,
      'gi',
    ),
    likes: ['postgres://admin:{w12}@db.example.com:5432/shop', 'redis://:{w16}@cache.example.com/0'],
  },
  {
    id: 'authorization',
    isNear: /authorization/i,
    pattern: new RegExp(
      `(${START}authorization["']?\\s{0,3}[:=]\\s{0,3}["']?(?:[a-z]{3,12}\\s{1,3})?)([A-Za-z0-9._~+/%-]{8,2000}={0,2})`,
      'gi',
    ),
    likes: ['Authorization: Token {w32}', 'authorization: {w24}'],
  },
  {
    id: 'authorization',
    isNear: /cookie/i,
    pattern: new RegExp(
      `(${START}(?:set-)?cookie["']?\\s{0,3}[:=]\\s{0,3}["']?)([^\\s"'=;,]{1,64}=[^\\r\\n"'\\\\]{8,4096})`,
      'gi',
    ),
    within: /([^\s"'=;,]{1,64}=)([A-Za-z0-9._~+/%-]{8,2000}={0,2})/g,
    isNone: secret => NOT_THE_COOKIE.test(secret),
    likes: ['Cookie: theme=dark; sid={w24}', 'Set-Cookie: session={w32}; Path=/; HttpOnly'],
  },
  {
    id: 'authorization',
    isNear: /bearer|basic/i,
    pattern: new RegExp(
      `(${START}(?:bearer|basic)[ \\t]{1,3})((?=[A-Za-z0-9._~+/-]{0,400}[\\d=])[A-Za-z0-9._~+/-]{12,2000}={0,2})`,
      'gi',
    ),
    isNone: secret => secret.split(/[-._/~+]/).every(part => /^(?:[A-Za-z]*\d{0,4})$/.test(part)),
    likes: ['Bearer {w40}'],
  },
  {
    id: 'password',
    isNear: / -u|--user/,
    pattern: new RegExp(`(\\s(?:-u|--user)[ =]{0,3}["']?[^\\s:"']{1,64}:)(${bare('"\'$<')}{4,256})`, 'g'),
    likes: ['curl -u admin:{w12} https://api.example.com'],
  },
  option('sshpass', '-p[ \\t]?', 'sshpass -p {w12} ssh ana@db'),
  option('(?:mysql\\w{0,12}|mariadb(?:-\\w{1,12})?)', '-p', 'mysql -h db -uroot -p{w12} shop'),
  {
    id: 'password',
    isNear: /login/,
    pattern: new RegExp(
      `(${START}(?:docker|podman|helm|buildah|skopeo|nerdctl|oras|oc|az|cf)${WORDS}[ \\t]+login${WORDS}[ \\t]+-p[ =]["']?)(?![-$<])(${WORD}{3,256})`,
      'g',
    ),
    likes: ['docker login -u ana -p {w12} r.example.com'],
  },
  option('redis-cli', '-a[ \\t]+', 'redis-cli -h h -a {w12} ping'),
  option('https?', '-a[ \\t]+["\']?[^\\s:"\']{1,64}:', 'http -a ana:{w12} GET x.example.com'),
  option('openssl', '-pass(?:in|out)?[ \\t]+["\']?pass:', 'openssl enc -pass pass:{w12} -in a'),
  option(
    'ldap(?:search|add|modify|delete|whoami|passwd|compare|modrdn|exop)',
    '-w[ \\t]{0,3}',
    'ldapsearch -x -D cn=a,dc=b -w {w12} -b dc=b',
  ),
  option(
    'smbclient|smbget|smbcacls|smbcquotas|rpcclient|winexe|wmic|net',
    '(?:-U|--user(?:name)?)[ =]{0,3}["\']?[^\\s%"\']{1,64}%',
    'smbclient //h/share -U ana%{w12}',
  ),
  option('mongo(?:sh|dump|restore|export|import|files)?', '-p[ \\t]+', 'mongosh -u ana -p {w12} --host h'),
  option('(?:sqlcmd|bcp|mosquitto_(?:pub|sub)|zip|unzip)', '-P[ \\t]{0,3}', 'sqlcmd -S h -U sa -P {w12} -d shop'),
  option('(?:keytool|jarsigner|apksigner)', '-(?:store|key|new)pass[ \\t]+', 'keytool -list -storepass {w12} -alias a'),
  option('7z[azr]?|(?:un)?rar', '-h?p', '7z a -p{w12} a.7z b'),
  {
    id: 'password',
    isNear: /htpasswd/,
    pattern: new RegExp(
      `(${START}htpasswd[ \\t]+-[A-Za-z]{0,6}b[A-Za-z]{0,6}[ \\t]+\\S{1,200}[ \\t]+\\S{1,64}[ \\t]+["']?)(${WORD}{3,256})`,
      'g',
    ),
    likes: ['htpasswd -cb .htpasswd ana {w12}'],
  },
  {
    id: 'password',
    isNear: /sudo|chpasswd/,
    pattern: new RegExp(
      `(${START}echo\\s{1,3}(?:-n\\s{1,3})?["']?(?:[\\w.-]{1,32}:)?)(${bare('"\'|$<')}{3,256})(?=\\\\?["']?\\s{0,3}\\|\\s{0,3}(?:sudo\\s[^\\n|]{0,40}-S|(?:sudo\\s{1,3})?chpasswd))`,
      'g',
    ),
    likes: ['echo {w12} | sudo -S ls', 'echo ana:{w12} | chpasswd'],
  },
  {
    id: 'secret',
    isNear: NEAR,
    pattern: new RegExp(`(${NAMED}["'\\]]{0,2}${GIVEN}")((?:[^"\\\\\\n]|\\\\[^\\n]){4,512})(?=")`, 'gi'),
    likes: ['{"api_key": "{w24}"}', 'password = "{w8} {w8}"'],
  },
  {
    id: 'secret',
    isNear: NEAR,
    pattern: new RegExp(`(${NAMED}(?!' :)["'\\]]{0,2}${GIVEN}')([^'\\n]{4,512})(?=')`, 'gi'),
    likes: ["password: '{w12}'"],
  },
  {
    id: 'secret',
    isNear: NEAR,
    pattern: new RegExp(`(${NAMED}\\\\"${GIVEN}\\\\")((?:[^"\\\\\\n]|\\\\(?!"))[^"\\\\\\n]{3,512})(?=\\\\")`, 'gi'),
    likes: [],
  },
  {
    id: 'secret',
    isNear: NEAR,
    pattern: new RegExp(`(<[\\w:.-]{0,40}${NAMED}>|${NAMED}["'] value=["'])([^<>"'\\n]{4,256})(?=["']|<\\/)`, 'gi'),
    likes: ['<password>{w12}</password>', '<add key="ApiSecret" value="{w12}"/>'],
  },
  // The second argument of a call whose first argument is a name: `define("DB_PASSWORD", "...")`.
  {
    id: 'secret',
    isNear: NEAR,
    pattern: new RegExp(
      `((?:define|env|set|put|add|append|export|const|config|update|header|property|parameter|default)\\s?\\(\\s?["'][\\w.-]{0,64}${NAMED}["'],\\s{0,3}["'])([^"'\\n\\\\]{3,256})(?=["'])`,
      'gi',
    ),
    likes: ['define("DB_PASSWORD", "{w12}");', "define( 'AUTH_KEY', '{w40}' );", 'os.putenv("API_TOKEN", "{w20}")'],
  },
  // A name and a value in two fields, as in environments of containers.
  {
    id: 'secret',
    isNear: NEAR,
    pattern: new RegExp(
      `(${NAMED}["']?(?:\\s{0,3},\\s{0,40}|${GAP})["']?value["']?\\s{0,3}[:=]\\s{0,3}["']?)(?!from)(${bare('"\'`,<>{}')}{3,512})`,
      'gi',
    ),
    likes: ['{"name":"DB_PASSWORD","value":"{w12}"}', '- name: DB_PASSWORD\n  value: {w12}'],
  },
  {
    id: 'secret',
    isNear: NEAR,
    pattern: new RegExp(
      `(${NAMED}["'\\]]{0,2}(?:${GIVEN}|(?<!pass|pwd|pw|credentials?)\\s{1,3}(?=\\S{0,64}[\\d!@#%^&*]))["']?)` +
        `(${LOOSE}{6,512})(?![^\\s"'\`,;&<>){}\\\\])`,
      'gi',
    ),
    // `token: CancellationToken;` is a type, `key: values['key']` an expression.
    isNone: (secret, next) =>
      /^[\w.$]{1,64}\[/.test(secret) || (/^[;,)|=]/.test(next) && /^[A-Z][a-z]+(?:[A-Z][a-z]+)+$/.test(secret)),
    likes: ['client_secret: {w20}', 'aws configure set aws_secret_access_key {w40}', 'APP_KEY=base64:{w43}='],
  },
  {
    id: 'secret',
    isNear: / (?:is|was) /,
    pattern: new RegExp(
      `((?:password|passwd|passphrase|api key|secret|token|pwd)(?: for [\\w.@-]{1,64})? (?:is|was):?\\s{1,2}["'\`]?)(?=\\S{0,64}[\\d!@#%^&*])(${bare('"\'`,<>(){}')}{6,256})`,
      'gi',
    ),
    isNone: secret => /^(?:\d+\w{0,2}|[a-z]+-\w{1,4})[.?!:]?$/.test(secret),
    likes: ['The password is {w9}7 for now.'],
  },
  // The value of an option is any word; the value of a variable ends at the next blank.
  {
    id: 'secret',
    isNear: /--/,
    pattern: new RegExp(
      `((?:[ \\t]|["'])--(?:[a-z]{1,16}-){0,2}${NAMED}(?:[ \\t]+|=|["'],\\s{0,3}["'])["']?)(?![-$<])(${bare('"\'$<')}{4,512})`,
      'gi',
    ),
    likes: ['tool --password {w12} x', 'tool --api-key={w20} x', '["tool","--token","{w20}"]'],
  },
  {
    id: 'secret',
    isNear: /[A-Z]=/,
    pattern: new RegExp(
      `(${START}(?:[A-Z][A-Z0-9]{0,30}_){0,6}(?:[A-Z0-9]{0,16}(?:SECRET|TOKEN|PASSWORD|PASSWD|PASSPHRASE)|(?:SSH)?PASS|PWD|API_?KEY|CREDENTIALS?|PAT|PIN)=["']?)(${bare('"\'`|')}{3,512})`,
      'g',
    ),
    likes: ['PASS={w6}', 'export DB_PASSWORD={w12}'],
  },
  {
    id: 'secret',
    isNear: /APP_KEY=/,
    pattern: /(APP_KEY=["']?base64:)([A-Za-z0-9+/]{22,88}={0,2})/g,
    likes: ['APP_KEY=base64:{w43}='],
  },
  // `.pgpass`, `.netrc`, and `auth` of container registries and npm.
  {
    id: 'password',
    isNear: /:\d{4,5}:|:\*:/,
    pattern: new RegExp(
      `(${START}[\\w.*-]{1,128}:(?:\\d{4,5}|\\*):[\\w*-]{1,64}:[\\w*.-]{1,64}:)(${bare('"\'')}{3,128})(?=[\\s"'\\\\\\u001b]|$)`,
      'g',
    ),
    likes: ['db.example.com:5432:shop:app:{w12}', '*:*:*:app:{w12}'],
  },
  {
    id: 'password',
    isNear: /password[\s+>|-]/,
    pattern: new RegExp(
      `((?:${START}machine${GAP}[^\\s"']{1,200}|${START}default)${GAP}(?:(?:login|account)${GAP}[^\\s"']{1,128}${GAP}){0,2}password${GAP}["']?)` +
        `([^\\s"'\\\\]{1,256})`,
      'g',
    ),
    likes: ['machine api.example.com login ana password {a10}', 'machine h.example\n  login ana\n  password {a10}\n'],
  },
  {
    id: 'secret',
    isNear: /auth/,
    pattern: /((?:["']auth["']\s{0,3}:\s{0,3}["']|\b_auth\s{0,3}=\s{0,3}["']?))([A-Za-z0-9+/]{12,512}={0,2})/g,
    likes: ['{"auths":{"r.example":{"auth":"{w24}"}}}', '//r.example.com/:_auth={w24}'],
  },
  // A token of X. Other texts may begin with the same letters, so it needs a context.
  {
    id: 'twitter',
    isNear: /A{21}/,
    pattern: new RegExp(`(${START})(A{21}[A-Za-z0-9%]{70,130})`, 'g'),
    likes: ['AAAAAAAAAAAAAAAAAAAAA{w80}'],
  },
  // A Secret of Kubernetes may use any names, so all of its values are secrets.
  {
    id: 'kubernetes-secret',
    isNear: /kind["']?\s{0,3}:\s{0,3}["']?(?:Sealed)?Secret\b/,
    pattern:
      /((?:^|\n)([^\n\S]{0,40}|[+>| -]{1,40})(?:stringData|data):[^\n\S]{0,8}\r?\n)((?:\2[^\n\S]{1,40}[^\n]{1,4096}(?:\n|$)){1,200})/g,
    within:
      /((?:^|\n)[+>|\s-]{0,80}["']?[\w.-]{1,128}["']?:[^\n\S]{0,8}["']?)([^\s"'][^\n"']{0,4095}(?:\n[+>|-]?[ \t]{4,80}[^\n:]{1,4096}){0,100})/g,
    likes: ['kind: Secret\nmetadata:\n  name: shop\ndata:\n  user: {w16}\n'],
  },
  {
    id: 'kubernetes-secret',
    isNear: /kind["']?\s{0,3}:\s{0,3}["']?(?:Sealed)?Secret\b/,
    pattern: /(["'](?:stringData|data)["']\s{0,8}:\s{0,8}\{)([^{}]{1,20000})(?=\})/g,
    within: /(["'][\w.-]{1,128}["']\s{0,8}:\s{0,8}["'])([^"']{1,20000})/g,
    likes: ['{"kind":"Secret","data":{"user":"{w16}"}}'],
  },
];

const NOT_THE_COOKIE = /^(?:[A-Z][a-z]{2}$|Strict$|Lax$|None$|Secure$|HttpOnly$|example\.com$)/;

/** Harmless text in the position of a secret, such as a placeholder or a variable. */
export const HARMLESS =
  /^(?:[$*[%<{]|\d{1,12}(?::\d{1,5})?$|[\w.]{0,40}(?:env|config|settings|options|args|self|this|req|request)\.|(?:string|number|boolean|null|undefined|true|false|none|nil|str|bytes|optional|required|your|my|example|changeme|placeholder|dummy|fake|xxx)\b|\.\.\.|(?:~|\.{1,2})?\/(?:(?:home|Users|usr|var|etc|opt|run|tmp|srv|root|mnt|proc|dev|app|workspace|work|src|secrets?|path)(?:[/\s]|$)|$)|(?:~|\.{1,2})\/)/i;

/** `PWD=/srv/shop` is a folder and not a password. */
export const isPlace = (before: string, secret: string): boolean =>
  /(?:^|[^a-z])(?:old)?pwd["']?\W{0,8}$/i.test(before) && /^(?:[~.]{0,2}[\\/]|[A-Za-z]:[\\/])/.test(secret);
