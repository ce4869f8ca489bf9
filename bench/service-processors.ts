import { setTimeout as pause } from 'node:timers/promises';
import { installMissing, testPackages } from '../scripts/packages.ts';
import { labAccounts } from '../test/lab/addresses.ts';
import type { Connection } from './client.ts';
import { processorTime } from './process.ts';
import { root } from './server.ts';

const needed = new Set(['gcc', 'libc6-dev', 'libopenipmi-dev', 'libssl-dev', 'openipmi', 'freeipmi-tools']);

/** For so many simulated BMCs that they take the processors from each other: settings with which they are waited for. */
export const slowSimulators = { MUSTER_IPMI_TIMEOUT: '120' };

/** Installs what the simulators and ipmipower come in. */
export function ensureSimulators(): void {
  installMissing(
    testPackages.filter(({ name }) => needed.has(name)),
    'the benchmarks',
  );
}

/** Defines a node for each BMC: `group` is their group, and their names are it and a number. */
export async function putNodes(
  connection: Connection,
  group: string,
  mgt: string,
  addresses: readonly string[],
): Promise<void> {
  const { username, password } = labAccounts.administrator;
  const login = { bmcusername: username, bmcpassword: password };
  const nodes = addresses.map((bmc, index) => [`${group}${index + 1}`, { groups: `all,${group}`, mgt, bmc, ...login }]);
  await connection.expect({ method: 'PUT', path: `${root}/nodes`, body: Object.fromEntries(nodes) });
}

/** The processes whose processor time counts. */
type Doers = readonly { readonly pid?: number | undefined }[];

export interface Cost {
  /** Milliseconds. */
  readonly wall: number;
  /** Microseconds of processor time for each BMC. */
  readonly processor: number;
}

export interface OwnCost extends Cost {
  /** What each process had of the processor time. */
  readonly parts: readonly number[];
}

/** What is left to do when the reply is out belongs to its cost. */
const aftermath = 100;

/** What it costs muster to tell the power state of a group; all of its nodes must answer. */
export function askPower(by: Doers, connection: Connection, group: string, count: number): Promise<OwnCost> {
  return askAll(by, connection, `${group}/power`, count, 'power');
}

/** What it costs muster to tell something of a group, `path` being what follows `/nodes/`; all of its nodes must tell this label. */
export async function askAll(
  by: Doers,
  connection: Connection,
  path: string,
  count: number,
  label: string,
): Promise<OwnCost> {
  const processorTimes = (): number[] => by.map(({ pid }) => processorTime(pid!));
  const before = processorTimes();
  const { took, body } = await connection.expect({ path: `${root}/nodes/${path}` });
  await pause(aftermath);
  const parts = processorTimes().map((time, i) => ((time - before[i]!) * 1000) / count);
  const answers = Object.values(JSON.parse(body!.toString()) as Record<string, Record<string, string>>);
  const known = answers.filter((answer) => !['', 'unknown', 'N/A'].includes(answer[label] ?? '')).length;
  if (known !== count) throw new Error(`${known} of ${count} nodes told their ${label}.`);
  return { wall: took, processor: parts.reduce((sum, part) => sum + part, 0), parts };
}

/** A session that is not used for so long has been closed, in milliseconds. */
const sessionsEnd = 27_000;
/** One in so many BMCs is asked how many sessions it has. */
const sample = 20;
/** A packet that got lost may leave half a session behind. */
const allowedSessions = 0.05;

interface Cooling {
  readonly addresses: readonly string[];
  sessions(index: number): Promise<number>;
}

/** Waits until muster, last asked at `since`, has closed its sessions, so that the next request has to open them again. */
export async function coolDown(labs: readonly Cooling[], since = performance.now()): Promise<void> {
  await pause(Math.max(0, since + sessionsEnd - performance.now()));
  for (const lab of labs) {
    let open = 0;
    for (let index = 0; index < lab.addresses.length; index += sample) open += await lab.sessions(index);
    const asked = Math.ceil(lab.addresses.length / sample);
    if (open > allowedSessions * asked) throw new Error(`${open} sessions are still open on ${asked} BMCs.`);
  }
}
