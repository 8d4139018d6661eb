/** The kinds of places that a path belongs to: rules name homes, system folders and credential files, not paths. */

export type Place =
  /** The root of the file system, or everything directly in it. */
  | 'root'
  /** A whole home, or all homes. */
  | 'home'
  | 'in-home'
  | 'system'
  /** Another absolute path. */
  | 'elsewhere'
  | 'temporary'
  /** Below the working folder of the agent. */
  | 'workspace'
  /** The whole working folder of the agent, or a folder above it. */
  | 'all'
  /** Build results, downloads and caches, which can be made again. */
  | 'rebuilt'
  | 'repository'
  | 'disk'
  | 'harmless-device'
  | 'secret'
  /** Runs automatically later: startup files of shells, schedules, services, hooks. */
  | 'startup'
  | 'sudoers'
  | 'history'
  /** Accounts and permissions of the system. */
  | 'accounts'
  /** Logs of the system, its services and its security software. */
  | 'log'
  /** Data that services publish or write while they run. */
  | 'served'
  /** Private data: files of a home, dumps, databases. */
  | 'personal'
  | 'agent-settings'
  /** Begins with a variable whose value is unknown. */
  | 'unknown';

const HOME = /^(?:\/home\/[^/]+|\/Users\/[^/]+|\/root|[A-Za-z]:\/Users\/[^/]+)(?=\/|$)/;
const SYSTEM =
  /^(?:(?:\/private)?\/(?:etc|usr|bin|sbin|boot|lib|lib32|lib64|var|opt|srv|sys|proc|dev|run|System|Library|Applications)|[A-Za-z]:\/(?:Windows|Program Files|ProgramData))(?:\/|$)/i;
const TEMPORARY =
  /^(?:\/tmp|\/var\/tmp|\/private\/tmp|\/var\/folders|\/var\/cache|\/var\/lib\/apt\/lists|\/dev\/shm|\$(?:TMPDIR|TMP|TEMP|RUNNER_TEMP))(?:\/|$)/;
const REBUILT =
  /(?:^|\/)(?:build|dist|out|target|coverage|node_modules|__pycache__|\.cache|\.next|\.turbo|\.nuxt|\.venv|venv|\.pytest_cache|\.mypy_cache|\.gradle|\.parcel-cache|\.npm|[Cc]aches?|_cacache|DerivedData|\.m2\/repository|pkg\/mod|\.pnpm-store|\.terraform|\.tox|\.ruff_cache|\.svelte-kit|\.vite|\.nyc_output|virtualenvs|cdk\.out|\.nuget\/packages|\.Trash|tmp)(?:\/|$)/;
const DISK = /^\/dev\/(?:sd[a-z]|hd[a-z]|vd[a-z]|xvd[a-z]|nvme\d|mmcblk\d|r?disk\d|mapper\/|dm-\d|md\d|loop\d)/;
const HARMLESS_DEVICE = /^\/dev\/(?:null|zero|tty|stdin|stdout|stderr|fd\/\d+|full|u?random)$/;
const EXAMPLE = /\.(?:example|sample|template|dist|defaults?|schema|md|pub|test\.[a-z]+|spec\.[a-z]+)$/i;
const SECRET = anyOf([
  /(?:^|\/)\.env(?:\.[\w-]+)*$/,
  /(?:^|\/)\.envrc$/,
  /(?:^|\/)id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?$/,
  /(?:^|\/)\.ssh(?:\/\*?)?$/,
  // All other files in this folder are keys.
  /(?:^|\/)\.ssh\/(?!(?:config|known_hosts|authorized_keys2?|allowed_signers|environment|rc|config\.d|sockets?)(?:\.|$))[\w.*@-]+$/,
  /(?:^|\/)\.aws(?:\/(?:credentials|\*|sso\/cache\/.*)?)?$/,
  /(?:^|\/)\.azure\/(?:accessTokens\.json|msal_token_cache\.\w+|service_principal_entries\.\w+)$/,
  /(?:^|\/)\.(?:netrc|npmrc|pypirc|pgpass|my\.cnf|mylogin\.cnf|git-credentials|vault-token|boto|s3cfg|htpasswd|dockercfg|terraformrc)$/,
  /(?:^|\/)_netrc$/,
  /(?:^|\/)\.kube\/(?:config[\w.-]*|[\w.-]+\.(?:config|ya?ml))$/,
  /(?:^|\/)[\w.-]*\.?kubeconfig(?:\.ya?ml)?$/,
  /^\/etc\/(?:rancher\/k3s\/k3s\.yaml|wireguard\/.+\.conf|openvpn\/.+|krb5\.keytab|NetworkManager\/system-connections\/.+|mysql\/debian\.cnf)$/,
  /(?:^|\/)\.(?:m2\/settings(?:-security)?\.xml|gradle\/gradle\.properties|composer\/auth\.json|oci\/[\w.-]+\.pem|password-store\/.+|ngrok2\/ngrok\.yml|fly\/config\.yml)$/,
  /(?:^|\/)\.config\/(?:rclone\/rclone\.conf|sops\/age\/keys\.txt|ngrok\/ngrok\.yml|doctl\/config\.yaml|hcloud\/cli\.toml|composer\/auth\.json|op\/config|glab-cli\/config\.yml|stripe\/config\.toml)$/,
  /(?:^|\/)(?:keyrings\/[^/]+\.keyring|Library\/Keychains\/.+|Microsoft\/(?:Credentials|Protect)\/.+)$/,
  /^~\/\.(?:[\w-]+\/)*(?:auth|oauth_creds|\.?credentials)\.json$/,
  /(?:^|\/)\.docker\/config\.json$/,
  /(?:^|\/)\.(?:config\/(?:gcloud|gh|op|rclone)|kube|docker|azure|password-store)\/?$/,
  /(?:^|\/)\.gnupg(?:\/.*)?$/,
  /(?:^|\/)\.config\/(?:gh\/hosts\.yml|gcloud\/(?:application_default_credentials\.json|credentials\.db|access_tokens\.db)|hub)$/,
  /(?:^|\/)\.(?:cargo|gem)\/credentials(?:\.toml)?$/,
  /(?:^|\/)\.terraform\.d\/credentials\.tfrc\.json$/,
  /(?:^|\/)[^/]*\.tfstate(?:\.backup)?$/,
  /(?:^|\/)[^/]*\.(?:key|p12|pfx|p8|jks|keystore|kdbx|ppk|ovpn|keytab|asc\.key)$/,
  /(?:^|\/)(?![^/]*pub)[^/]*(?:private|secret|[-_.]key|^key|deploy|bastion|ec2)[^/]*\.pem$/i,
  /(?:^|\/)(?:privkey|key)\.pem$/,
  /(?:^|\/)(?!(?:external|sealed|example|sample|test)[-_.])(?:[\w-]{1,40}[-_.])?(?:secrets?|credentials?)(?:[-_.](?:prod(?:uction)?|stag(?:e|ing)|live|dev|local|decrypted))?\.(?:json|ya?ml|toml|ini|txt|env|properties|tfvars)$/i,
  /(?:^|\/)\.?secrets?\/[\w-]+(?:\.(?:txt|json|ya?ml|toml|ini|env|key|pem))?$/,
  /(?:^|\/)(?:client_secret[\w.-]*|[\w-]*(?:firebase-adminsdk|gcp|sa|service)[\w-]*-key)\.json$/,
  /(?:^|\/)wp-config\.php$/,
  /(?:^|\/)(?:[\w-]{1,40}[-_])?service[-_]?account[^/]*\.json$/i,
  /^\/etc\/(?:g?shadow|security\/opasswd|ssl\/private\/.*|ssh\/ssh_host_\w+_key|kubernetes\/admin\.conf)-?$/,
  /^\/proc\/(?:self|\d+|\$+\w*)\/environ$/,
  /(?:^|\/)(?:cookies\.sqlite|logins\.json|key4\.db|Login Data|Cookies|login\.keychain(?:-db)?)$/,
  /^\/(?:var\/)?run\/secrets(?:\/.*)?$/,
]);
const STARTUP = anyOf([
  /^~\/\.(?:bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|zlogout|xinitrc|xprofile|xsession|xsessionrc|inputrc|kshrc|cshrc|tcshrc|login|pam_environment)$/,
  /^~\/\.config\/(?:fish\/(?:config\.fish|conf\.d\/.*|functions\/.*)|autostart(?:\/.*)?|systemd\/user(?:\/.*)?|environment\.d\/.*|nushell\/(?:config|env)\.nu)$/,
  /^~\/\.local\/share\/systemd\/user(?:\/.*)?$/,
  /^\$PROFILE(?:\.|$)/i,
  /^(?:~)?\/Library\/Launch(?:Agents|Daemons)(?:\/.*)?$/,
  /(?:^|\/)\.ssh\/(?:authorized_keys2?|rc)$/,
  /(?:^|\/)\.git\/hooks\/[^/]+$/,
  /^\/etc\/(?:cron[^/]*|systemd\/(?:system|user)|init\.d|profile\.d|rc\.d|ld\.so\.preload|profile|bash\.bashrc|bashrc|zsh\w*|zprofile|rc\.local|inittab|environment|crontab|xdg\/autostart|anacrontab|pam\.d|udev\/rules\.d|update-motd\.d|modules-load\.d|NetworkManager\/dispatcher\.d)(?:\/.*)?$/,
  /^\/(?:lib|usr\/lib|usr\/local\/lib)\/systemd\/(?:system|user)(?:\/.*)?$/,
  /^\/var\/spool\/(?:cron|at)(?:\/.*)?$/,
  /\/Start Menu\/Programs\/Startup(?:\/.*)?$/i,
  /(?:^|\/)(?:Microsoft\.PowerShell_)?profile\.ps1$/i,
]);
const SUDOERS = /^\/etc\/(?:sudoers(?:\.d(?:\/.*)?)?|doas\.conf)$/;
const HISTORY =
  /^~\/\.(?:(?:bash|zsh|sh|ksh|python|node_repl|psql|mysql|sqlite|rediscli|\*|[a-z]*\*)_?history|zhistory|histfile|local\/share\/fish\/fish_history)$|(?:^|\/)ConsoleHost_history\.txt$|HistorySavePath$|^\$HISTFILE$/;
const ACCOUNTS = /^(?:\/private)?\/etc\/(?:passwd|shadow|group|gshadow|polkit-1\/.*)$/;
const LOG =
  /^(?:\/private)?\/var\/(?:log\/?(?:\*|$|(?:(?:audit|journal|sudo-io)(?:\/.*)?|(?:auth|syslog|messages|secure|kern|wtmp|btmp|lastlog|faillog|utmp|audit|fail2ban|system)[\w.*-]*)$)|run\/utmp)/;
const SERVED = /^\/(?:srv|var\/(?:www|log|cache|run)|run)\//;
const PERSONAL =
  /^~\/(?!\.)(?:Documents|Desktop|Pictures|Downloads|Movies|Music|Library|Mail)(?:\/|$)|^~(?:\/?\*?)$|^~\/\.(?:config|local\/share)\/?$|^~\/\.(?:mozilla|thunderbird|config\/(?:google-chrome|chromium|BraveSoftware))(?:\/|$)|\.(?:sql|dump|pgdump|bak|db|sqlite3?|mdb|pst|wallet)(?:\.(?:gz|xz|zst|bz2|zip|enc))?$|(?:^|\/)(?:customers?|users?|patients?|invoices?|payments?|salaries|employees)[\w.-]*\.(?:csv|xlsx?|jsonl?|parquet)(?:\.gz)?$/i;
const AGENT_SETTINGS = /(?:^|\/)\.(?!vscode\/|idea\/)[a-z][\w-]*\/(?:settings(?:\.local)?|hooks|permissions)\.json$/;

/** Longer than the paths of any system. */
const LONGEST_PATH = 1_024;

/** Normalizes a path: absolute if possible, homes as `~`, without `.` and `..`. */
export function plainPath(path: string, cwd: string | undefined): string {
  const given = homed(
    path
      .slice(0, LONGEST_PATH)
      .trim()
      .replace(/^file:\/\//, '')
      .replaceAll('\\', '/'),
  );
  const whole =
    isAbsolute(given) || cwd === undefined || cwd === '' ? given : `${homed(cwd.replaceAll('\\', '/'))}/${given}`;
  if (!UNSETTLED.test(whole)) return whole.slice(0, LONGEST_PATH);
  const parts: string[] = [];
  for (const part of whole.split('/')) {
    if (part === '' || part === '.') continue;
    const last = parts.at(-1);
    if (part === '..' && last !== undefined && last !== '..' && last !== '~') parts.pop();
    else if (part !== '..' || !whole.startsWith('/')) parts.push(part);
  }
  return ((whole.startsWith('/') ? '/' : '') + parts.join('/')).slice(0, LONGEST_PATH);
}

/** Has parts such as `.`, `..` or `//`. */
const UNSETTLED = /^$|(?:^|\/)\.{1,2}(?:\/|$)|\/\/|\/$/;

const homed = (path: string): string => path.replace(HOME, '~').replace(/^\$(?:HOME|USERPROFILE)(?=\/|$)/, '~');
const isAbsolute = (path: string): boolean => /^(?:[/~$]|[A-Za-z]:)/.test(path);

/** `workspace` is the working folder of the agent; a relative path starts at `cwd`. */
export function placesOf(path: string, cwd: string | undefined, workspace?: string | undefined): Place[] {
  const plain = plainPath(path, cwd);
  const home = workspace === undefined ? undefined : plainPath(workspace, undefined);
  const below = home === undefined || home === '~' || home === '/' ? undefined : relativeTo(home, plain);
  const places: Place[] = [whereabouts(plain, below)];
  if (REBUILT.test(below ?? plain)) places.push('rebuilt');
  if (/(?:^|\/)\.git(?:\/\*|\/objects.*|\/refs.*)?$/.test(plain)) places.push('repository');
  if (!EXAMPLE.test(plain) && SECRET(plain.endsWith('*') ? plain.replace(/(?<=[^/])\.?\*{1,2}$/, '') : plain))
    places.push('secret');
  if (STARTUP(plain)) places.push('startup');
  if (SUDOERS.test(plain)) places.push('sudoers');
  if (HISTORY.test(plain)) places.push('history');
  if (ACCOUNTS.test(plain)) places.push('accounts');
  if (LOG.test(plain)) places.push('log');
  if (SERVED.test(plain)) places.push('served');
  if (PERSONAL.test(plain)) places.push('personal');
  if (AGENT_SETTINGS.test(plain)) places.push('agent-settings');
  return places;
}

function whereabouts(path: string, below: string | undefined): Place {
  if (below !== undefined) return below === '' || below === '*' ? 'all' : 'workspace';
  if (/^(?:\/\*?|[A-Za-z]:\/?\*?)$/.test(path)) return 'root';
  if (HARMLESS_DEVICE.test(path)) return 'harmless-device';
  if (DISK.test(path)) return 'disk';
  if (TEMPORARY.test(path)) return 'temporary';
  if (/^(?:~|~\/\*|~\/\.\*|\/home(?:\/(?:\*|\$.*)?)?|\/Users(?:\/\*?)?)$/.test(path)) return 'home';
  if (path.startsWith('~/')) return 'in-home';
  if (SYSTEM.test(path)) return 'system';
  if (/^(?:\/|[A-Za-z]:)/.test(path)) return 'elsewhere';
  if (path.startsWith('$')) return 'unknown';
  if (/^(?:|\*|\.\*|\*\*|(?:\.\.\/)*\.\.(?:\/\*)?)$/.test(path)) return 'all';
  return path.startsWith('../') ? 'elsewhere' : 'workspace';
}

const relativeTo = (folder: string, path: string): string | undefined =>
  path === folder ? '' : path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : undefined;

/** One merged pattern is faster than many. */
function anyOf(patterns: readonly RegExp[]): (path: string) => boolean {
  const merged = ['', 'i'].map(flags => {
    const here = patterns.filter(pattern => pattern.flags === flags);
    return new RegExp(here.map(({ source }) => `(?:${source})`).join('|') || '(?!)', flags);
  });
  return path => merged.some(pattern => pattern.test(path));
}
