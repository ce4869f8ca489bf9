import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Connection } from './client.ts';
import { freePort } from './nginx.ts';
import { clientCore, type Helper, memory, startHelper } from './process.ts';
import { atMost, type Benchmark, compare, figure, type Row } from './report.ts';
import { type Muster, newDirectory, root, startMusterWith } from './server.ts';
import type { Latencies } from './stalls-probe.ts';
import { hostileAddress, hostileNode, loader, type Victim } from './stalls-victim.ts';

const nodes = 10_000;
const idleTime = 3_000;
/** What an act leaves behind belongs to it. */
const aftermath = 500;
/** Milliseconds that another client may be kept waiting beyond its idle time. */
const allowed = 100;

/** By what they are called in stalls-acts.ts. */
const hostile: Readonly<Record<string, string>> = {
  anonymousBodies: '4 anonymous bodies of 32 MiB',
  unfinishedBodies: '40 anonymous bodies of 32 MiB, unfinished',
  wrongPasswords: '4 bodies of 32 MiB with wrong passwords',
  refusals: '50 connections that ask without an account, 5 s',
  patternOfNobody: 'a pattern of 118,800 steps by an account without rules',
  patternsOfNobody: '  ten in one range',
  pattern: '  one by an account that may',
  patterns: '  ten by an account that may',
  restlessPattern: '  one whose tables never suffice, by an account that may',
  rangeOfNobody: 'a range of 999,000 unknown names by an account without rules',
  range: '  by an account that may',
  rangeToChange: '  to change them, by an account that may',
  bulkPut: 'PUT of 10,000 nodes in 32 MiB',
  limitedPut: '  by an account that is limited to a node range',
  redfishObjects: 'Redfish: a collection of 8 MB of {}',
  redfishResource: 'Redfish: a resource of 1 MB of {}',
  redfishEarly: 'Redfish: 103 without end',
  redfishStatus: 'Redfish: a status line without end, 10 s',
  redfishDrip: 'Redfish: a body of a byte each millisecond, 10 s',
  idleConnections: '400 idle connections, 5 s',
  tftpUnanswered: 'TFTP: 4,608 requests from 512 addresses that nobody answers to, again and again, 5 s',
  tftpAnswered: 'TFTP: 4,096 transfers from 128 addresses that stop after their first block',
  bootScripts: 'boot scripts for 250 addresses without a pause, 5 s',
  bootReports: 'boot reports of 64 KB with a wrong token, 50 at a time, 5 s',
};

async function tokenOf(client: Connection, userName: string, userPW: string): Promise<string> {
  const reply = await client.expect({ method: 'POST', path: `${root}/tokens`, body: { userName, userPW } });
  return (JSON.parse(reply.body!.toString()) as { token: { id: string } }).token.id;
}

/** An account that no rule speaks of, one that is limited to a range, and a node behind a hostile BMC. */
async function prepare(muster: Muster, boot: Victim['boot']): Promise<Victim> {
  const client = await muster.connect();
  const [userName, password] = ['nobody', 'nobody-password'];
  await client.expect({
    method: 'PUT',
    path: `${root}/tables/passwd/rows/key=xcat,username=${userName}`,
    body: { password },
  });
  const definition = { groups: 'all', mgt: 'redfish', bmc: hostileAddress, bmcusername: 'u', bmcpassword: 'p' };
  await client.expect({ method: 'POST', path: `${root}/nodes/${hostileNode}`, body: definition });
  const nobody = await tokenOf(client, userName, password);
  await client.expect({
    method: 'PUT',
    path: `${root}/tables/passwd/rows/key=xcat,username=limited`,
    body: { password },
  });
  await client.expect({
    method: 'POST',
    path: `${root}/policy/9`,
    body: { name: 'limited', commands: 'chdef', noderange: 'all', rule: 'allow' },
  });
  const limited = await tokenOf(client, 'limited', password);
  client.close();
  return { port: muster.port, boot, tokens: { root: muster.token, nobody, limited } };
}

async function measured(probe: Helper, work: () => Promise<unknown>): Promise<Latencies> {
  await probe.ask('begin');
  await work();
  return (await probe.ask('end')) as Latencies;
}

function row(what: string, idle: Latencies, during: Latencies): Row {
  const more = during.worst - idle.median;
  return {
    what,
    muster: `${figure(during.worst)} ms, +${figure(Math.max(0, more))}`,
    floor: `idle ${figure(idle.median)}, p99 ${figure(idle.p99)} ms`,
    ratio: more / allowed,
    bar: atMost(1),
  };
}

/** The longest that GET /health of another client takes while somebody does his worst, as a part of idle and 100 ms. */
export const stalls: Benchmark = {
  name: 'stalls',
  async *rows() {
    const boot = { http: await freePort(), tftp: await freePort() };
    const loaders = newDirectory();
    writeFileSync(join(loaders, loader), Buffer.alloc(100_000));
    const muster = await startMusterWith(nodes, {
      env: {
        MUSTER_BOOT_LISTEN: `127.0.0.1:${boot.http}`,
        MUSTER_BOOT_TFTP_LISTEN: `127.0.0.1:${boot.tftp}`,
        MUSTER_BOOT_DIRECTORY: loaders,
      },
    });
    const probe = startHelper(join(import.meta.dirname, 'stalls-probe.ts'), clientCore);
    const actor = startHelper(join(import.meta.dirname, 'stalls-acts.ts'), clientCore, { idle: true });
    try {
      await actor.ask({ victim: await prepare(muster, boot) });
      await probe.ask({ port: muster.port });
      await measured(probe, () => wait(idleTime));
      for (const [act, what] of Object.entries(hostile)) {
        const idle = await measured(probe, () => wait(idleTime));
        const during = await measured(probe, async () => {
          await actor.ask({ act });
          await wait(aftermath);
        });
        yield row(what, idle, during);
      }
      yield compare('highest memory of the server in all this', memory(muster.pid).highest, 1024, 'MiB', atMost(1));
    } finally {
      await probe.stop();
      await actor.stop();
      await muster.stop();
    }
  },
};
