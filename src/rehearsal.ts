import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { SecretBox } from './access/secrets.ts';
import { rpower } from './commands/rpower.ts';
import type { Means } from './commands/per-node.ts';
import type { Logger } from './core/log.ts';
import { Snapshot } from './database/snapshot.ts';
import { SortedMap } from './database/sorted-map.ts';
import type { Row } from './database/tables.ts';
import { workOn } from './dispatch/work.ts';
import { Devices } from './drivers/devices.ts';
import { Governor } from './drivers/governor.ts';
import { Hardware } from './drivers/hardware.ts';
import { ipmiDriver } from './drivers/ipmi/index.ts';
import { StandIn } from './protocols/ipmi/stand-in.ts';
import { LocalFiles } from './services/remote/local-files.ts';

/** Enough for the engine to compile what every session runs through; it takes as long as so many real ones. */
const nodes = 512;
/** Few enough that a request in between does not wait. */
const perTurn = 32;
const address = '127.0.0.1';
const password = 'rehearsal';
/** Get Chassis Status: no error, and off. */
const off = Uint8Array.of(0, 0, 0, 0);

const nameOf = (number: number): string => `rehearsal${number}`;

/**
 * Asks for the power of nodes that are not there: of one stand-in on the loopback interface, with a client, a governor and a snapshot
 * of their own. What a fresh process does first costs twice what it costs later, since the engine has not compiled it yet; so the first
 * of these commands nobody waits for.
 */
export async function rehearse(log: Logger): Promise<void> {
  const began = performance.now();
  try {
    await rehearsePower();
    log.debug(`rehearsed ${nodes} sessions in ${Math.round(performance.now() - began)} ms`);
  } catch (error) {
    log.warn({ err: error }, 'sessions could not be rehearsed; the first commands will take longer');
  }
}

async function rehearsePower(): Promise<void> {
  const standIn = new StandIn(password, off);
  const socket = createSocket('udp4');
  socket.on('message', (packet, { port: to }) => {
    const reply = standIn.reply(packet);
    // The stand-in writes the next reply into the same place.
    if (reply) socket.send(Buffer.from(reply), to, address);
  });
  socket.unref();
  socket.bind(0, address);
  await once(socket, 'listening');
  const driver = ipmiDriver({});
  const drivers = new Map([[driver.name, driver]]);
  const box = SecretBox.temporary();
  const devices = new Devices(drivers, new Governor());
  // Power asks for nothing else.
  const means = { devices } as Means;
  const snapshot = clusterAt(socket.address().port, box);
  const target = new Hardware(drivers, box).targets(snapshot, rpower.name, 'power');
  const { signal } = new AbortController();
  try {
    for (let first = 0; first < nodes; first += perTurn) {
      const some = Array.from({ length: perTurn }, (_, index) => nameOf(first + index));
      const plan = { shared: { action: 'stat' }, target };
      const workplace = { means, files: new LocalFiles(), signal, tell: () => undefined };
      for await (const results of workOn(rpower as never, 'muster', some, plan, workplace))
        for (const result of results) if ('error' in result) throw new Error(result.error);
      await turn();
    }
  } finally {
    await devices.close();
    socket.close();
  }
}

/** Nodes that differ by the user name, so that each has a session of its own. */
function clusterAt(port: number, box: SecretBox): Snapshot {
  const sealed = box.seal(password, 'ipmi.password');
  const names = Array.from({ length: nodes }, (_, number) => nameOf(number)).sort();
  const table = (row: (node: string) => Row) => SortedMap.fromEntries(names.map((node) => [node, row(node)] as const));
  return Snapshot.of({
    revision: 1,
    sequence: 1,
    tables: [
      ['nodelist', table((node) => ({ node, groups: 'all' }))],
      ['nodehm', table((node) => ({ node, mgt: 'ipmi' }))],
      ['ipmi', table((node) => ({ node, bmc: address, bmcport: String(port), username: node, password: sealed }))],
    ],
  });
}
