import { type Invocation, say, xcatCommand } from '../command.ts';
import { acting, changing } from '../common-options.ts';
import { Refused, UsageError } from '../errors.ts';
import { errorLine } from '../lines.ts';
import { flag, valued, verbose } from '../options.ts';
import { act, warn } from '../server-work.ts';

export const makenetworks = xcatCommand({
  usage: `Usage: makenetworks [-d] [ATTRIBUTE=VALUE]...

  Defines the networks that the management node is in.`,
  options: {
    'd|display': flag('show the networks as stanzas, which mkdef -z and chdef -z read, and define none'),
    ...verbose,
  },
  common: changing,
  async run(invocation, call) {
    const strange = call.operands.find((word) => !word.includes('='));
    if (strange !== undefined)
      return say(invocation, `${makenetworks.usage}\n\n"${strange}" is not ATTRIBUTE=VALUE.`, 1);
    const attributes: Record<string, string> = {};
    for (const word of call.operands) {
      const [name, value] = [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)];
      // One of both would be dropped.
      if (Object.hasOwn(attributes, name) && attributes[name] !== value)
        throw new UsageError(`${name}= was given twice; give it once. No network was defined.`);
      attributes[name] = value;
    }
    if (call.flag('d')) return showNetworks(invocation, attributes);
    warn(invocation, await act(invocation, 'POST', '/networks', { body: attributes }));
    return 0;
  },
});

/** As the server found it, by attributes. */
type FoundNetwork = Readonly<Record<string, string>> & { readonly name: string };

const order = ['net', 'mask', 'gateway', 'mgtifname', 'mtu', 'tftpserver'];

async function showNetworks({ client, stdout }: Invocation, given: Readonly<Record<string, string>>): Promise<number> {
  const { network } = (await client.get('/attributes/network', { aside: true })) as { network: object };
  const strange = Object.keys(given).find((attribute) => !Object.hasOwn(network, attribute));
  if (strange !== undefined)
    throw new UsageError(`Networks have no attribute "${strange}"; lsdef -t network -h lists those that they have.`);
  const found = (await client.get('/localres/networks')) as readonly (FoundNetwork & { readonly defined: boolean })[];
  stdout.line(`\n#From ${client.server}.`);
  for (const { name, defined, ...own } of found) {
    const attributes: Readonly<Record<string, string>> = { ...own, ...given };
    const names = [...order, ...Object.keys(given).filter((attribute) => !order.includes(attribute))];
    const lines = names.flatMap((attribute) => {
      const value = attributes[attribute];
      return value === undefined ? [] : [`    ${attribute}=${value}`];
    });
    const note = defined ? ['# Note: An equivalent xCAT network definition already exists.'] : [];
    stdout.write(`${[`${name}:`, '    objtype=network', ...lines, ...note].join('\n')}\n\n`);
  }
  return 0;
}

export const makeroutes = xcatCommand({
  usage: `Usage: makeroutes [-d] [-r ROUTE[,ROUTE]...]

  Sets routes of the management node that are defined in table routes; without -r those that site.mnroutenames names.`,
  options: {
    'd|delete': flag('remove the routes'),
    'r|routename|routenames': valued('ROUTES', 'these routes, joined by commas'),
  },
  common: acting,
  async run(invocation, call) {
    const [range] = call.operands;
    if (range !== undefined)
      throw new UsageError(
        `muster sets no routes on nodes. Set them on ${range} with xdsh, such as xdsh ${range} ip route add NETWORK via ROUTER, or with a postscript.`,
      );
    const routes = (call.value('r') ?? '').split(',').filter((name) => name !== '');
    if (call.has('r') && routes.length === 0) throw new UsageError('-r takes names of table routes, joined by commas.');
    const body = routes.length > 0 ? { routes } : {};
    try {
      const said = await act(invocation, call.flag('d') ? 'DELETE' : 'POST', '/services/routes', { body });
      for (const line of said) invocation.stdout.line(line);
      // They are among these lines already.
      invocation.client.notes.clear();
      return 0;
    } catch (error) {
      if (!(error instanceof Refused) || error.kind !== 'unknown-object') throw error;
      for (const sentence of error.sentences) invocation.stderr.line(errorLine(sentence, invocation.client.server));
      return 1;
    }
  },
});
