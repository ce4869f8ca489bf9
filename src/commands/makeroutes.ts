import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { ipKind, ipText, parseIp } from '../core/ip.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { isEnabled } from '../database/tables.ts';
import { listItems } from '../core/list-items.ts';
import { siteValue } from '../objects/effective.ts';
import { prefixOfRow } from '../objects/networks.ts';
import { addRoute, removeRoute, type StaticRoute } from '../names/index.ts';
import { act, everyNode } from './command.ts';

const none = 'No routes defined in the site.mnroutenames for the management node.';

/** Routes of the management node. All are looked at before the first is set. */
export const makeroutes = act({
  name: 'makeroutes',
  args: Type.Object({
    routes: Type.Optional(Type.Array(Type.String(), { description: 'without it those of site.mnroutenames' })),
    remove: Type.Optional(Type.Boolean()),
  }),
  line: ({ routes, remove }) => [...(remove ? ['-d'] : []), ...(routes ? ['-r', routes.join(',')] : [])],
  select: () => everyNode,
  async run(snapshot, { routes, remove }) {
    const names = routes ?? listItems(siteValue(snapshot, 'mnroutenames') ?? '');
    if (names.length === 0) return { shape: 'none', messages: [none], notes: [none] };
    const messages: string[] = [];
    for (const route of [...new Set(names)].map((name) => routeNamed(snapshot, name))) {
      const done = await (remove ? removeRoute(route) : addRoute(route));
      if (!done) messages.push(`Route ${route.name} ${remove ? 'was not set' : 'is set already'}.`);
    }
    return { shape: 'none', messages };
  },
});

function routeNamed(snapshot: Snapshot, name: string): StaticRoute {
  const row = snapshot.get('routes', name);
  if (!row || !isEnabled(row))
    throw new Fault(
      'unknown-object',
      `There is no route "${name}" in table routes; GET /definitions/route lists all of them.`,
      { missing: [name] },
    );
  const wrong = (what: string): Fault => new Fault('invalid', `Route ${name}: ${what}.`);
  const prefix = prefixOfRow(row);
  if (typeof prefix === 'string') throw wrong(prefix);
  if (prefix.bits === 0) throw wrong('the default route is set by the operating system, not by muster');
  const { gateway: text = '', ifname } = row;
  const gateway = parseIp(text);
  if (!gateway || gateway.family !== prefix.family)
    throw wrong(`its gateway "${text}" is not an IPv${prefix.family} address`);
  if (!['host', 'link-local'].includes(ipKind(gateway))) throw wrong(`its gateway ${ipText(gateway)} is not a router`);
  if (ifname && !/^[A-Za-z0-9][\w.:-]{0,14}$/.test(ifname)) throw wrong(`its ifname "${ifname}" is not an interface`);
  return { name, prefix, gateway, device: ifname || undefined };
}
