/** The file with which the system runs `serve` for a user: systemd's unit or launchd's property list. */

export interface Service {
  /** The words of the command: Node, the bin, `serve` and its flags. */
  command: readonly string[];
  home: string;
}

export const units = { systemd: systemdUnit, launchd: launchdPlist } as const;

/** The path of the unit, and the commands that start it. */
export const installed = {
  systemd: [
    '~/.config/systemd/user/otel-hooks.service',
    'systemctl --user daemon-reload && systemctl --user enable --now otel-hooks',
  ],
  launchd: [
    '~/Library/LaunchAgents/dev.otel-hooks.serve.plist',
    'launchctl bootstrap gui/$(id -u) ~/Library/LaunchAgents/dev.otel-hooks.serve.plist',
  ],
} as const;

function systemdUnit({ command }: Service): string {
  const [file, start] = installed.systemd;
  return `# ${file}
# ${start}
[Unit]
Description=otel-hooks: takes agents' events over HTTP and delivers them as OpenTelemetry
After=network.target

[Service]
Type=exec
ExecStart=${command.map(systemdWord).join(' ')}
Restart=on-failure
RestartSec=2
TimeoutStopSec=20
UMask=0077
LimitNOFILE=8192
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX

[Install]
WantedBy=default.target
`;
}

/** Quotes a word for systemd, in which a percent sign is a specifier, a dollar a variable and a backslash an escape. */
function systemdWord(word: string): string {
  const safe = word.replaceAll('%', '%%').replaceAll('$', '$$$$');
  return /^[\w@%+=:,./$-]+$/.test(safe) ? safe : `"${safe.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

function launchdPlist({ command, home }: Service): string {
  const [file, start] = installed.launchd;
  const text = (value: string): string => `<string>${xml(value)}</string>`;
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ${file} -->
<!-- ${start} -->
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>dev.otel-hooks.serve</string>
  <key>ProgramArguments</key>
  <array>
${command.map(word => `    ${text(word)}`).join('\n')}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
    <key>HOME</key>
    ${text(home)}
  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ExitTimeOut</key>
  <integer>20</integer>
  <key>Umask</key>
  <integer>63</integer>
  <key>StandardErrorPath</key>
  ${text(`${home}/Library/Logs/otel-hooks.log`)}
</dict>
</plist>
`;
}

const xml = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
