import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { Server } from 'node:https';
import { addLog, type Bmc, makeBmc } from './bmc.ts';
import { type CertificateMaker, certificateMaker } from './certificate.ts';
import type { RedfishFaults, RedfishState, ServiceOptions, StoppedAt } from './protocol.ts';
import { addResources } from './resources/all.ts';
import { addSubscription, report, setEvents } from './resources/events.ts';
import { changeMedium } from './resources/media.ts';
import { forgetSessions } from './resources/sessions.ts';
import { beginForeign, forgetTasks } from './update.ts';
import { nothingSeen, type Seen, serveBmc } from './server.ts';

interface Member {
  readonly bmc: Bmc;
  readonly seen: Seen;
  server: Server;
}

/** All services of one process. */
export interface Fleet {
  state(index: number): RedfishState;
  openSessions(): number;
  fingerprint(index: number): string;
  fault(index: number, faults: RedfishFaults): Promise<void>;
  log(index: number, message: string, severity: string): void;
  subscribe(index: number, destination: string): void;
  report(index: number, event: object, raw: string | undefined): void;
}

export async function startFleet(options: ServiceOptions): Promise<Fleet> {
  const maker = await certificateMaker();
  const members = await Promise.all(options.addresses.map((_, index) => startMember(options, maker, index)));
  const memberOf = (index: number): Member => {
    const member = members[index];
    if (!member) throw new Error(`There is no Redfish service ${index}; there are ${members.length}.`);
    return member;
  };
  return {
    state: (index) => stateOf(memberOf(index)),
    openSessions: () => members.reduce((sum, { bmc }) => sum + bmc.sessions.size, 0),
    fingerprint: (index) => new X509Certificate(memberOf(index).bmc.web.pem).fingerprint256,
    fault: (index, faults) => setFaults(memberOf(index), faults, maker, options.port),
    log: (index, message, severity) => addLog(memberOf(index).bmc, message, severity),
    subscribe: (index, destination) => void addSubscription(memberOf(index).bmc, destination, ''),
    report: (index, event, raw) => report(memberOf(index).bmc, event, raw),
  };
}

async function startMember(options: ServiceOptions, maker: CertificateMaker, index: number): Promise<Member> {
  const { addresses, kinds, makers, powerDelay, sessionLimit, port, delay } = options;
  const address = addresses[index]!;
  const bmc = makeBmc({
    index,
    kind: kinds[index % kinds.length]!,
    address,
    powerDelay,
    sessionLimit,
    maker: makers[index % makers.length]!,
  });
  addResources(bmc);
  const seen = nothingSeen(delay);
  const { web } = bmc;
  web.pem = await maker.make(address);
  web.key = maker.key;
  const member: Member = { bmc, seen, server: serveBmc(bmc, seen, { cert: web.pem, key: web.key }) };
  web.serve = (cert, key) => serveWith(member, cert, key);
  bmc.move = (next) => move(member, next, port);
  bmc.restart = (away, done) => restart(member, away, done, port);
  await listen(member.server, address, port);
  return member;
}

async function listen(server: Server, address: string, port: number): Promise<void> {
  server.listen(port, address, 1024);
  await once(server, 'listening');
}

/** The reply to the request that moves the service still goes out on the old connection. */
function move(member: Member, address: string, port: number): void {
  const { bmc, server } = member;
  bmc.address = address;
  server.close(() => server.listen(port, address, 1024));
  setTimeout(() => closeSockets(member), 50);
}

function restart(member: Member, away: number | undefined, done: () => void, port: number): void {
  closeServer(member, 0);
  done();
  if (away !== undefined) setTimeout(() => void listen(member.server, member.bmc.address, port), away);
}

/** As web servers do that read their certificate anew, it ends the connections that there are. */
function serveWith(member: Member, cert: string, key: string): void {
  Object.assign(member.bmc.web, { pem: cert, key, later: undefined });
  member.server.setSecureContext({ cert, key });
  closeSockets(member);
}

/** At once, or when the reply to the request at hand has gone out. */
function closeServer(member: Member, after = 50): void {
  member.server.close();
  if (after === 0) closeSockets(member);
  else setTimeout(() => closeSockets(member), after);
}

function closeSockets({ seen }: Member): void {
  for (const socket of seen.sockets) socket.destroy();
}

async function setFaults(member: Member, faults: RedfishFaults, maker: CertificateMaker, port: number): Promise<void> {
  const { bmc, seen, server } = member;
  if (faults.delay !== undefined) seen.delay = faults.delay;
  if (faults.garbage !== undefined) seen.garbage = faults.garbage;
  if (faults.unavailable !== undefined) seen.unavailable = faults.unavailable;
  if (faults.outdated !== undefined) seen.outdated = faults.outdated;
  if (faults.lost !== undefined)
    bmc.move = faults.lost ? () => closeServer(member) : (next) => move(member, next, port);
  if (faults.stubborn !== undefined) bmc.stubborn = faults.stubborn;
  if (faults.weak !== undefined) bmc.weak = faults.weak;
  if (faults.tokenless !== undefined) bmc.tokenless = faults.tokenless;
  if (faults.forgetful !== undefined) bmc.forgetful = faults.forgetful;
  if (faults.refusesPasswords !== undefined) bmc.refusesPasswords = faults.refusesPasswords;
  if (faults.passwordKept !== undefined) bmc.passwordKept = faults.passwordKept || undefined;
  if (faults.at !== undefined) stopAt(member, faults.at || undefined);
  if (faults.host !== undefined) bmc.host = faults.host;
  if (faults.console !== undefined) bmc.console = faults.console;
  if (faults.starting !== undefined) bmc.starting = faults.starting;
  if (faults.forget) forgetSessions(bmc);
  if (faults.events !== undefined) setEvents(bmc, faults.events);
  if (faults.newCertificate) {
    serveWith(member, await maker.make(bmc.address), maker.key);
  }
  if (faults.certificates !== undefined) bmc.web.faults = faults.certificates;
  if (faults.update) {
    const { forgetTasks: forget, ...others } = faults.update;
    Object.assign(bmc.update.faults, others);
    if (forget || others.foreign === false) forgetTasks(bmc);
    if (others.foreign) beginForeign(bmc);
  }
  if (faults.media) bmc.media = { ...bmc.media, faults: faults.media };
  if (faults.medium) changeMedium(bmc, faults.medium);
  if (faults.dead === undefined) return;
  seen.silent = faults.dead === 'silent';
  if (faults.dead === 'refused' && server.listening) closeServer(member, 0);
  if (faults.dead !== 'refused' && !server.listening) await listen(server, bmc.address, port);
}

/** What is held goes on. */
function stopAt(member: Member, at: StoppedAt | undefined): void {
  const { seen } = member;
  seen.stoppedAt = at && { ...at, die: () => closeServer(member, 0) };
  for (const go of seen.held.splice(0)) go();
}

const stateOf = ({ bmc, seen }: Member): RedfishState => ({
  power: bmc.power,
  boot: bmc.boot,
  bootOrder: bmc.bootOrder,
  starts: bmc.starts,
  resets: bmc.resets,
  indicator: bmc.indicator,
  limit: bmc.limit,
  logEntries: bmc.log.length,
  openSessions: bmc.sessions.size,
  sessionsOpened: bmc.sessionsOpened,
  connections: seen.sockets.size,
  requests: seen.requests,
  missed: seen.missed,
  refusedLogins: seen.refusedLogins,
  held: seen.held.length,
  accounts: bmc.accounts.filter(({ username }) => username !== ''),
  address: bmc.address,
  images: bmc.update.taken,
  versions: bmc.update.versions,
  media: { drives: bmc.media.drives, fetched: bmc.media.fetched },
  isReserved: bmc.update.reserved,
  tasks: bmc.update.tasks.size,
  subscriptions: [...bmc.subscriptions.values()].map(({ destination }) => destination),
  streams: bmc.streams.size,
  changes: seen.changes,
  bios: { current: bmc.bios.current, waiting: bmc.bios.waiting },
});
