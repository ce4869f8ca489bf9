import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';

/** A network of its own inside this machine, with nothing but a loopback interface until it is connected. */
export interface Namespace {
  readonly name: string;
  /** The words that run a program inside. */
  command(program: string, ...args: string[]): [string, ...string[]];
  /** Runs a program inside to its end; answers what it printed. */
  run(program: string, ...args: string[]): string;
  /** Ends it, with its interfaces. Processes inside are the caller's matter. */
  remove(): void;
}

const prefix = 'muster';
const living = new Set<Namespace>();
let made = 0;

process.on('exit', () => {
  for (const namespace of living) namespace.remove();
});

const ip = (...args: string[]): string =>
  execFileSync('ip', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

/** Whether this user and this kernel can make namespaces. */
export function canMakeNamespaces(): boolean {
  try {
    makeNamespace().remove();
    return true;
  } catch {
    return false;
  }
}

export function makeNamespace(): Namespace {
  removeLeftOvers();
  const name = `${prefix}-${process.pid}-${++made}`;
  ip('netns', 'add', name);
  const namespace: Namespace = {
    name,
    command: (program, ...args) => ['ip', 'netns', 'exec', name, program, ...args],
    run: (program, ...args) => ip('netns', 'exec', name, program, ...args),
    remove() {
      if (!living.delete(namespace)) return;
      try {
        ip('netns', 'delete', name);
      } catch {
        // Somebody else has removed it already.
      }
    },
  };
  living.add(namespace);
  namespace.run('ip', 'link', 'set', 'lo', 'up');
  return namespace;
}

export interface End {
  readonly namespace: Namespace;
  readonly interface: string;
  /** With the length of the network: 10.0.0.1/24 or fd00::1/64. */
  readonly addresses?: readonly string[];
  readonly mac?: string;
}

/** A cable between two namespaces. It goes with either of them. */
export function connectNamespaces(a: End, b: End): void {
  const [first, second] = [temporaryName(), temporaryName()];
  ip('link', 'add', first, 'type', 'veth', 'peer', 'name', second);
  for (const [link, end] of [
    [first, a],
    [second, b],
  ] as const) {
    ip('link', 'set', link, 'netns', end.namespace.name, 'name', end.interface);
    if (end.mac !== undefined) end.namespace.run('ip', 'link', 'set', end.interface, 'address', end.mac);
    for (const address of end.addresses ?? []) {
      const noWait = address.includes(':') ? ['nodad'] : [];
      end.namespace.run('ip', 'address', 'add', address, 'dev', end.interface, ...noWait);
    }
    // Addresses can be used at once: nobody else has the same.
    const settings = ['all', end.interface].map((each) => `/proc/sys/net/ipv6/conf/${each}/accept_dad`);
    for (const setting of settings) end.namespace.run('sh', '-c', `echo 0 > ${setting}`);
    end.namespace.run('ip', 'link', 'set', end.interface, 'up');
  }
}

/** A cable to a switch. */
export interface Cable {
  /** Nothing passes from now on, and neither end hears of that. */
  cut(): void;
  mend(): void;
}

/** A network that any number of namespaces are plugged into, in a namespace of its own with an address. */
export interface Switch {
  readonly namespace: Namespace;
  plug(end: End): Cable;
}

export function makeSwitch(address: string): Switch {
  const namespace = makeNamespace();
  const bridge = 'bridge';
  namespace.run('ip', 'link', 'add', bridge, 'type', 'bridge');
  namespace.run('ip', 'address', 'add', address, 'dev', bridge);
  namespace.run('ip', 'link', 'set', bridge, 'up');
  let ports = 0;
  return {
    namespace,
    plug(end) {
      const port = `port${++ports}`;
      connectNamespaces(end, { namespace, interface: port });
      namespace.run('ip', 'link', 'set', port, 'master', bridge);
      const set = (state: 'up' | 'down') => namespace.run('ip', 'link', 'set', port, state);
      return { cut: () => void set('down'), mend: () => void set('up') };
    },
  };
}

/** Unique on the machine, and no longer than the fifteen characters an interface's name may have. */
const temporaryName = (): string => `mv${process.pid.toString(36)}x${(++made).toString(36)}`;

/** Those of test processes that were killed before they could clean up. */
function removeLeftOvers(): void {
  const directory = '/run/netns';
  if (!existsSync(directory)) return;
  for (const name of readdirSync(directory)) {
    const pid = new RegExp(`^${prefix}-(\\d+)-\\d+$`).exec(name)?.[1];
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
    try {
      ip('netns', 'delete', name);
    } catch {
      // Another test process was quicker.
    }
  }
}
