import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { Server } from 'node:https';
import { addLog, type Bmc, makeBmc } from './bmc.ts';
import { type CertificateMaker, certificateMaker } from './certificate.ts';
import type { RedfishFaults, RedfishState, ServiceOptions } from './protocol.ts';
import { addResources } from './resources/all.ts';
import { forgetSessions } from './resources/sessions.ts';
import { nothingSeen, type Seen, serveBmc } from './server.ts';

interface Member {
  readonly bmc: Bmc;
  readonly seen: Seen;
  server: Server;
  certificate: string;
}

/** All services of one process. */
export interface Fleet {
  state(index: number): RedfishState;
  openSessions(): number;
  fingerprint(index: number): string;
  fault(index: number, faults: RedfishFaults): Promise<void>;
  log(index: number, message: string, severity: string): void;
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
    fingerprint: (index) => new X509Certificate(memberOf(index).certificate).fingerprint256,
    fault: (index, faults) => setFaults(memberOf(index), faults, maker, options.port),
    log: (index, message, severity) => addLog(memberOf(index).bmc, message, severity),
  };
}

async function startMember(options: ServiceOptions, maker: CertificateMaker, index: number): Promise<Member> {
  const { addresses, kinds, powerDelay, sessionLimit, port, delay } = options;
  const address = addresses[index]!;
  const bmc = makeBmc({ index, kind: kinds[index % kinds.length]!, address, powerDelay, sessionLimit });
  addResources(bmc);
  const seen = nothingSeen(delay);
  const certificate = await maker.make(address);
  const member: Member = { bmc, seen, certificate, server: serveBmc(bmc, seen, { cert: certificate, key: maker.key }) };
  bmc.move = (next) => move(member, next, port);
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
  if (faults.tokenless !== undefined) bmc.tokenless = faults.tokenless;
  if (faults.forgetful !== undefined) bmc.forgetful = faults.forgetful;
  if (faults.host !== undefined) bmc.host = faults.host;
  if (faults.starting !== undefined) bmc.starting = faults.starting;
  if (faults.forget) forgetSessions(bmc);
  if (faults.newCertificate) {
    member.certificate = await maker.make(bmc.address);
    server.setSecureContext({ cert: member.certificate, key: maker.key });
    closeSockets(member);
  }
  if (faults.dead === undefined) return;
  seen.silent = faults.dead === 'silent';
  if (faults.dead === 'refused' && server.listening) closeServer(member, 0);
  if (faults.dead !== 'refused' && !server.listening) await listen(server, bmc.address, port);
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
  address: bmc.address,
  changes: seen.changes,
});
