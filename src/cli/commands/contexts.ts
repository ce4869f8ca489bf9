import { UsageError } from '../client-errors.ts';
import type { CliCommand } from '../invocation.ts';
import { operandsOf, ownCommand } from '../own/own-command.ts';
import { changeContexts } from '../own/write-contexts.ts';
import { readContexts } from '../places.ts';

const usage = `Usage: muster contexts [NAME]

Lists the servers that were logged in to, with a star before the one that commands ask. With NAME that one is asked from now on;
MUSTER_CONTEXT=NAME does it for one call.`;

export const command: CliCommand = ownCommand(usage, {}, ({ env, stdout }, options) => {
  const [name] = operandsOf(options, 0, 1, 'Name at most one context.');
  const { current, contexts } = readContexts(env);
  if (name !== undefined) {
    if (!Object.hasOwn(contexts, name))
      throw new UsageError(`There is no context "${name}"; muster contexts lists them.`);
    changeContexts(env, (all) => ({ ...all, current: name }));
    return Promise.resolve(0);
  }
  const width = Math.max(0, ...Object.keys(contexts).map((each) => each.length));
  for (const [each, { url, user, token }] of Object.entries(contexts)) {
    const who = token === undefined ? 'logged out' : (user ?? '');
    stdout.line(`${each === current ? '*' : ' '} ${each.padEnd(width)}  ${url}  ${who}`);
  }
  return Promise.resolve(0);
});
