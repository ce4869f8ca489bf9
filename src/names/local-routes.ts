import { execFile } from 'node:child_process';
import { Fault } from '../core/errors.ts';
import { type Ip, ipText, type Prefix, prefixText } from '../core/ip.ts';

/** A way to a network that this machine has through a router. */
export interface StaticRoute {
  readonly name: string;
  readonly prefix: Prefix;
  readonly gateway: Ip;
  readonly device: string | undefined;
}

/** As the kernel lists it: routes to directly connected networks have no gateway. */
interface KernelRoute {
  readonly gateway?: string;
  readonly dev?: string;
}

const commandTimeout = 10_000;

/** Sets a route; false if it is there already. A route to the same network that somebody else has set is never replaced. */
export async function addRoute(route: StaticRoute): Promise<boolean> {
  const present = await routesTo(route);
  if (present.some((each) => isThis(route, each))) return false;
  const [other] = present;
  if (other)
    throw new Fault(
      'invalid',
      `Route ${route.name}: there is another route to ${prefixText(route.prefix)} (${shown(other)}), which muster does not replace. Remove it with ip route, or change the route.`,
    );
  await ip(route, 'add', ...words(route));
  return true;
}

/** Removes a route; false if it is not there. One to the same network through another router stays. */
export async function removeRoute(route: StaticRoute): Promise<boolean> {
  const present = await routesTo(route);
  if (!present.some((each) => isThis(route, each))) return false;
  await ip(route, 'del', ...words(route));
  return true;
}

async function routesTo(route: StaticRoute): Promise<readonly KernelRoute[]> {
  const text = await ip(route, 'show', 'exact', prefixText(route.prefix));
  return text.trim() === '' ? [] : (JSON.parse(text) as KernelRoute[]);
}

const isThis = ({ gateway, device }: StaticRoute, present: KernelRoute): boolean =>
  present.gateway === ipText(gateway) && (device === undefined || present.dev === device);

const shown = ({ gateway, dev }: KernelRoute): string =>
  [...(gateway === undefined ? [] : [`via ${gateway}`]), ...(dev === undefined ? [] : [`dev ${dev}`])].join(' ');

const words = ({ prefix, gateway, device }: StaticRoute): string[] => [
  prefixText(prefix),
  'via',
  ipText(gateway),
  ...(device === undefined ? [] : ['dev', device]),
];

function ip({ name, prefix }: StaticRoute, ...args: readonly string[]): Promise<string> {
  const all = ['-json', `-${prefix.family}`, 'route', ...args];
  return new Promise((resolve, reject) => {
    execFile('ip', all, { timeout: commandTimeout }, (error, stdout, stderr) => {
      if (!error) return resolve(stdout);
      const reason = stderr.trim() || error.message;
      reject(new Fault('unavailable', `Route ${name}: ip ${all.slice(1).join(' ')} failed: ${reason}.`));
    });
  });
}
