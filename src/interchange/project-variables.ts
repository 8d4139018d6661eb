/** Variables in commands that hold the folder of the project. Each agent sets its own. */
import type { AddLoss } from './losses.ts';
import type { Hook } from './manifest.ts';
import type { Provider } from './provider.ts';

/**
 * The variables of all agents have one form. The expression reads the form of a POSIX shell, also with braces and a
 * default, and those of cmd and PowerShell.
 */
const used = /(\$\{?|\$env:|%)([A-Z][A-Z0-9]*_PROJECT_DIR)(?![A-Za-z0-9_])/g;

/**
 * Returns the hook with the variables that the target sets. A command with a variable that is not set names another
 * file, so a guard that cannot be rewritten is lost.
 */
export function withProjectVariables(hook: Hook, provider: Provider, addLoss: AddLoss): Hook {
  const { handler } = hook;
  const own = provider.projectVariables ?? [];
  const rewritten = (text: string): string =>
    text.replace(used, (whole, before: string, name: string) => {
      if (own.includes(name)) return whole;
      const [to] = own;
      addVariableLoss(name, to, hook, provider, addLoss);
      return to === undefined ? whole : `${before}${to}`;
    });
  const rewrittenAll = (texts: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, rewritten(text)]));
  return {
    ...hook,
    handler: {
      ...handler,
      ...(handler.command === undefined ? {} : { command: rewritten(handler.command) }),
      ...(handler.cwd === undefined ? {} : { cwd: rewritten(handler.cwd) }),
      ...(handler.platform === undefined ? {} : { platform: rewrittenAll(handler.platform) }),
      ...(handler.env === undefined ? {} : { env: rewrittenAll(handler.env) }),
    },
  };
}

function addVariableLoss(
  name: string,
  to: string | undefined,
  { blocking }: Hook,
  { title }: Provider,
  addLoss: AddLoss,
): void {
  const about = { kind: 'semantic_approximation', field: 'handler.command' } as const;
  if (to !== undefined) {
    addLoss({ ...about, severity: 'info', message: `$${name} becomes $${to}, which ${title} sets` });
    return;
  }
  addLoss({
    ...about,
    severity: blocking === true ? 'error' : 'warning',
    message: `${title} does not set $${name}, so the command names another file there`,
    suggestion: 'otel-hooks convert --scripts absolute writes the path.',
  });
}

/** Returns a path in the project as a word of a shell command; `undefined` if the agent sets no variable for it. */
export function projectPath(path: string, provider: Provider | undefined): string | undefined {
  const [name] = provider?.projectVariables ?? [];
  return name === undefined ? undefined : `"$${name}"/${path}`;
}
