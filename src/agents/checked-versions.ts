/** Written by `npm run docs`: the version of each agent that the scenarios with real agents ran with. */
export const checkedVersions: Readonly<Record<string, string>> = {
  'claude-code': '2.1.327',
  codex: '0.169.0',
  'gemini-cli': '0.61.0',
  copilot: '1.0.102',
  opencode: '1.18.33',
  cline: '3.0.65',
  droid: '0.215.0',
};
