import { describe, expect, it } from 'vitest';
import { known } from '../../src/commands/interchange.ts';
import { hookInterchange } from '../../src/interchange/manifest-validator.ts';

function findings(hook: object): string[] {
  const validation = hookInterchange.validation('x.json', { interchange: known });
  validation.write(JSON.stringify({ spec: 'hooks/0.1', hooks: [hook] }));
  return validation.end().findings.map(({ level, rule, why }) => `${level} ${rule} ${why}`);
}

const command = (more: object): object => ({
  event: 'before_prompt',
  handler: { type: 'command', command: 'x', ...more },
});

describe('each of these has a hint', () => {
  it.each(['', ' ', '\n\t'])('the blank command %j', blank => {
    expect(findings(command({ command: blank }))).toEqual([
      'error handler/required handler.command is blank: there is nothing to run',
    ]);
  });

  it.each(['a/../../b', '..', './../x', 'a\\..\\..\\b', '/etc', '~', 'C:\\x'])('the folder %s', cwd => {
    const [found = ''] = findings(command({ cwd }));
    expect(found).toMatch(/^warning handler\/folder cwd is .*, outside of the project: name a folder from its root$/);
  });

  it.each(['a', './a', 'a/../b', 'a/b/../../c', '..a/b', '.'])('the folder %s is in the project', cwd => {
    expect(findings(command({ cwd }))).toEqual([]);
  });

  it.each([
    ['PreToolUse', 'before_tool_execute'],
    ['beforeShellExecution', 'before_tool_execute'],
    ['BeforeAgent', 'before_prompt'],
    ['tool.execute.after', 'after_tool_execute'],
    ['Stop', 'agent_stop'],
  ])('the event %s', (event, name) => {
    expect(findings({ event, handler: { type: 'command', command: 'x' } })).toEqual([
      `warning hook/event '${event}' is an event of no registry: it is the name of an agent; the format calls it ${name}`,
    ]);
  });

  it('a misspelled event', () => {
    expect(findings({ event: 'before_promt', handler: { type: 'command', command: 'x' } })[0]).toContain(
      'did you mean before_prompt?',
    );
  });
});
