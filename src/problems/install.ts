/** The package is in no registry yet: this command, run in a clone, installs it. */
export const INSTALL_COMMAND = 'npm install && npm run build && npm i -g .';

export const UPDATE = `update otel-hooks: in its clone, git pull && ${INSTALL_COMMAND}`;
