/** What kind of place a path is: rules speak of homes, system folders and files of credentials, not of spellings. */

export type Place =
  /** The root of all, or all that is directly in it. */
  | 'root'
  /** A whole home, or all homes. */
  | 'home'
  | 'in-home'
  | 'system'
  /** Another absolute path. */
  | 'elsewhere'
  | 'temporary'
  /** Below where the agent works. */
  | 'workspace'
  /** All of where the agent works, or above it. */
  | 'all'
  /** What is built, downloaded or cached, and comes again. */
  | 'rebuilt'
  | 'repository'
  | 'disk'
  | 'harmless-device'
  | 'secret'
  /** Runs by itself, later: a shell's start, schedules, services, hooks. */
  | 'startup'
  | 'sudoers'
  | 'history'
  | 'agent-settings'
  /** Begins with what only the shell knows. */
  | 'unknown';

const HOME = /^(?:\/home\/[^/]+|\/Users\/[^/]+|\/root|[A-Za-z]:\/Users\/[^/]+)(?=\/|$)/;
const SYSTEM =
  /^(?:\/(?:etc|usr|bin|sbin|boot|lib|lib32|lib64|var|opt|srv|sys|proc|dev|run|System|Library|Applications)|[A-Za-z]:\/(?:Windows|Program Files|ProgramData))(?:\/|$)/i;
const TEMPORARY =
  /^(?:\/tmp|\/var\/tmp|\/private\/tmp|\/var\/folders|\/dev\/shm|\$(?:TMPDIR|TMP|TEMP|RUNNER_TEMP))(?:\/|$)/;
const REBUILT =
  /(?:^|\/)(?:build|dist|out|target|coverage|node_modules|__pycache__|\.cache|\.next|\.turbo|\.nuxt|\.venv|venv|\.pytest_cache|\.mypy_cache|\.gradle|\.parcel-cache|\.npm|Caches|tmp)(?:\/|$)/;
const DISK = /^\/dev\/(?:sd[a-z]|hd[a-z]|vd[a-z]|xvd[a-z]|nvme\d|mmcblk\d|r?disk\d|mapper\/|dm-\d|md\d|loop\d)/;
const HARMLESS_DEVICE = /^\/dev\/(?:null|zero|tty|stdin|stdout|stderr|fd\/\d+|full|u?random)$/;
const EXAMPLE = /\.(?:example|sample|template|dist|md|pub|test\.[a-z]+|spec\.[a-z]+)$/i;
const SECRET = anyOf([
  /(?:^|\/)\.env(?:\.[\w-]+)*$/,
  /(?:^|\/)\.envrc$/,
  /(?:^|\/)id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?$/,
  /(?:^|\/)\.ssh(?:\/\*?)?$/,
  /(?:^|\/)\.aws(?:\/(?:credentials|\*|sso\/cache\/.*)?)?$/,
  /(?:^|\/)\.azure\/(?:accessTokens\.json|msal_token_cache\.\w+)$/,
  /(?:^|\/)\.(?:netrc|npmrc|pypirc|pgpass|my\.cnf|git-credentials|vault-token|boto|s3cfg|htpasswd)$/,
  /(?:^|\/)_netrc$/,
  /(?:^|\/)\.kube\/config$/,
  /(?:^|\/)\.docker\/config\.json$/,
  /(?:^|\/)\.gnupg(?:\/.*)?$/,
  /(?:^|\/)\.config\/(?:gh\/hosts\.yml|gcloud\/(?:application_default_credentials\.json|credentials\.db|access_tokens\.db)|hub)$/,
  /(?:^|\/)\.(?:cargo|gem)\/credentials(?:\.toml)?$/,
  /(?:^|\/)\.terraform\.d\/credentials\.tfrc\.json$/,
  /(?:^|\/)[^/]*\.tfstate(?:\.backup)?$/,
  /(?:^|\/)[^/]*\.(?:key|p12|pfx|jks|keystore|kdbx|ppk|asc\.key)$/,
  /(?:^|\/)[^/]*(?:private|secret)[^/]*\.pem$/i,
  /(?:^|\/)(?:privkey|key)\.pem$/,
  /(?:^|\/)(?:secrets?|credentials?)\.(?:json|ya?ml|toml|ini|txt|env)$/i,
  /(?:^|\/)service[-_]account[^/]*\.json$/i,
  /^\/etc\/(?:g?shadow|security\/opasswd|ssl\/private\/.*|ssh\/ssh_host_\w+_key|kubernetes\/admin\.conf)-?$/,
  /^\/proc\/(?:self|\d+|\$+\w*)\/environ$/,
  /(?:^|\/)(?:cookies\.sqlite|logins\.json|key4\.db|Login Data|Cookies|login\.keychain(?:-db)?)$/,
  /^\/(?:var\/)?run\/secrets(?:\/.*)?$/,
]);
const STARTUP = anyOf([
  /^~\/\.(?:bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|xinitrc|xprofile|inputrc|kshrc)$/,
  /^~\/\.config\/(?:fish\/(?:config\.fish|conf\.d\/.*)|autostart(?:\/.*)?|systemd\/user(?:\/.*)?)$/,
  /^(?:~)?\/Library\/Launch(?:Agents|Daemons)(?:\/.*)?$/,
  /(?:^|\/)\.ssh\/(?:authorized_keys2?|rc)$/,
  /(?:^|\/)\.git\/hooks\/[^/]+$/,
  /^\/etc\/(?:cron[^/]*|systemd\/system|init\.d|profile\.d|rc\.d|ld\.so\.preload|profile|bash\.bashrc|zsh|rc\.local|crontab|xdg\/autostart|anacrontab|pam\.d)(?:\/.*)?$/,
  /^\/(?:lib|usr\/lib)\/systemd\/system(?:\/.*)?$/,
  /^\/var\/spool\/cron(?:\/.*)?$/,
  /\/Start Menu\/Programs\/Startup(?:\/.*)?$/i,
  /(?:^|\/)(?:Microsoft\.PowerShell_)?profile\.ps1$/i,
]);
const SUDOERS = /^\/etc\/(?:sudoers(?:\.d(?:\/.*)?)?|doas\.conf)$/;
const HISTORY =
  /^~\/\.(?:bash_history|zsh_history|zhistory|sh_history|python_history|local\/share\/fish\/fish_history)$/;
const AGENT_SETTINGS = /(?:^|\/)\.(?!vscode\/|idea\/)[a-z][\w-]*\/(?:settings(?:\.local)?|hooks|permissions)\.json$/;

/** No system has longer ones. */
const LONGEST_PATH = 1_024;

/** One spelling of a path: absolute where that is known, homes as `~`, no `.` and `..`. */
export function plainPath(path: string, cwd: string | undefined): string {
  const said = homed(
    path
      .slice(0, LONGEST_PATH)
      .trim()
      .replace(/^file:\/\//, '')
      .replaceAll('\\', '/'),
  );
  const whole =
    isAbsolute(said) || cwd === undefined || cwd === '' ? said : `${homed(cwd.replaceAll('\\', '/'))}/${said}`;
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

/** Has parts that lead nowhere, or back. */
const UNSETTLED = /^$|(?:^|\/)\.{1,2}(?:\/|$)|\/\/|\/$/;

const homed = (path: string): string => path.replace(HOME, '~').replace(/^\$(?:HOME|USERPROFILE)(?=\/|$)/, '~');
const isAbsolute = (path: string): boolean => /^(?:[/~$]|[A-Za-z]:)/.test(path);

/** `workspace` is the folder where the agent works, `cwd` the one in which the path was said. */
export function placesOf(path: string, cwd: string | undefined, workspace?: string | undefined): Place[] {
  const plain = plainPath(path, cwd);
  const home = workspace === undefined ? undefined : plainPath(workspace, undefined);
  const below = home === undefined || home === '~' || home === '/' ? undefined : relativeTo(home, plain);
  const places: Place[] = [whereabouts(plain, below)];
  if (REBUILT.test(below ?? plain)) places.push('rebuilt');
  if (/(?:^|\/)\.git(?:\/\*|\/objects.*|\/refs.*)?$/.test(plain)) places.push('repository');
  if (SECRET(plain) && !EXAMPLE.test(plain)) places.push('secret');
  if (STARTUP(plain)) places.push('startup');
  if (SUDOERS.test(plain)) places.push('sudoers');
  if (HISTORY.test(plain)) places.push('history');
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

/** One pattern goes over a path faster than many do. */
function anyOf(patterns: readonly RegExp[]): (path: string) => boolean {
  const merged = ['', 'i'].map(flags => {
    const here = patterns.filter(pattern => pattern.flags === flags);
    return new RegExp(here.map(({ source }) => `(?:${source})`).join('|') || '(?!)', flags);
  });
  return path => merged.some(pattern => pattern.test(path));
}
