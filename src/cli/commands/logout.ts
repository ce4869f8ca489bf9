import { NotReached, Refused, UsageError } from '../client-errors.ts';
import { Client } from '../client.ts';
import type { CliCommand } from '../invocation.ts';
import { operandsOf, ownCommand } from '../own/own-command.ts';
import { changeContexts } from '../own/write-contexts.ts';
import { placeOf, readContexts } from '../places.ts';

const usage = `Usage: muster logout [--context NAME] [--forget]

Ends the token of the server that was logged in to last, or of the one that is named. Its address and its certificate authority
stay known.

  --context NAME   the server, see muster contexts
  --forget         forget its address and its certificate authority too`;

export const command: CliCommand = ownCommand(
  usage,
  { context: 'value', forget: 'flag' },
  async ({ env, stdout, stderr }, options) => {
    operandsOf(options, 0, 0, 'Name the server with --context.');
    const { current, contexts } = readContexts(env);
    const name = options.value('context') ?? env['MUSTER_CONTEXT'] ?? current;
    if (name === undefined) throw new UsageError('Nobody is logged in.');
    const context = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
    if (!context) throw new UsageError(`There is no context "${name}"; muster contexts lists them.`);
    let code = 0;
    if (context.token !== undefined) {
      const { MUSTER_TOKEN: _, ...others } = env;
      const client = new Client(() => placeOf(context.url, others, context));
      try {
        await client.call('DELETE', '/tokens');
      } catch (error) {
        if (!(error instanceof NotReached) && !(error instanceof Refused)) throw error;
        // One that has ended already needs no end.
        if (!(error instanceof Refused && error.isDenied)) {
          stderr.line(`muster logout: The token stays valid at the server until it expires: ${error.message}.`);
          code = 3;
        }
      } finally {
        client.close();
      }
    }
    const { [name]: _, ...others } = contexts;
    const { token: _token, ...kept } = context;
    changeContexts(env, (all) => ({
      ...(options.flag('forget') && all.current === name ? {} : { current: all.current ?? name }),
      contexts: options.flag('forget') ? others : { ...others, [name]: kept },
    }));
    stdout.line(options.flag('forget') ? `${name} is forgotten.` : `Logged out of ${name}.`);
    return code;
  },
);
