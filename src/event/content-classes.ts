/** The classes and modes of content that a configuration can name; docs/privacy.md describes them. */

/** The classes with their descriptions. */
export const contentClasses = {
  prompt: 'prompts of people',
  response: 'answers and messages of the agent, and reasons of decisions',
  arguments: 'input of actions, including commands and paths in it',
  results: 'output of actions, and messages of errors',
  paths: 'the file that an action is about, and the working folder',
  commands: 'the line that a shell is given',
  user: 'the user of the agent',
  host: 'the name of the machine',
} as const;

export type ContentClass = keyof typeof contentClasses;

/** Each mode keeps more than the mode before it. */
export const contentModes = ['off', 'hash', 'redacted', 'full'] as const;

export type ContentMode = (typeof contentModes)[number];

export type Modes = { readonly [of in ContentClass]: ContentMode };

/** A hash of a prompt or an answer shows that two texts are equal and does not disclose the text. */
export const defaultModes: Modes = {
  prompt: 'hash',
  response: 'hash',
  arguments: 'off',
  results: 'off',
  paths: 'off',
  commands: 'off',
  user: 'off',
  host: 'off',
};
