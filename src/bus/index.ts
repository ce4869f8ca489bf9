import type { Logger } from '../core/log.ts';
import { Bus } from './connection.ts';
import { busPlaces } from './places.ts';
import type { BusSettings } from './settings.ts';
import { WorkerEnd } from './worker-end.ts';
import { Workers } from './workers.ts';

export type { Channel } from './channel.ts';
export {
  type DhcpDuty,
  type DnsDuty,
  dnsDutyProblem,
  dutiesOf,
  type Duty,
  type SyslogDuty,
  type WantedServices,
} from './duties.ts';
export {
  type ConsoleFailure,
  type ConsoleOrder,
  type ConsoleReport,
  mostCharacters,
  readConsoleOrder,
  readConsoleReports,
} from './console-messages.ts';
export { makeLogins, natsConfiguration } from './configuration.ts';
export {
  type Answer,
  encoded,
  faultSchema,
  type JobOrder,
  type Order,
  largestJob,
  largestReport,
  latestTime,
  messageReader,
  readAnswer,
  readOrder,
  type Report,
  type Service,
  services,
} from './messages.ts';
export { busPlaces } from './places.ts';
export { busSettings, type BusSettings } from './settings.ts';
export { isWorkerName } from './subjects.ts';
export type { ConnectedWorker, TakeQuestions, WorkerEntry, Workers } from './workers.ts';
export type { WorkerEnd } from './worker-end.ts';

interface BusGround {
  readonly data: string;
  readonly version: string;
  readonly log: Logger;
}

/** The workers that a server can give work to; undefined where no NATS servers are set. */
export function openWorkers(settings: BusSettings, { data, version, log }: BusGround): Workers | undefined {
  const bus = openBus(settings, busPlaces(data).server, undefined, { data, log });
  return bus && new Workers(bus, version, log, settings.jobSeconds * 1_000);
}

type WorkerOptions = ConstructorParameters<typeof WorkerEnd>[1];

/** A worker's end of the bus. */
export function openWorkerEnd(settings: BusSettings, data: string, options: WorkerOptions): WorkerEnd | undefined {
  const { name, log } = options;
  const bus = openBus(settings, busPlaces(data).worker(name), name, { data, log });
  return bus && new WorkerEnd(bus, options);
}

function openBus(
  { servers, ca, credentials }: BusSettings,
  own: string,
  worker: string | undefined,
  { data, log }: Omit<BusGround, 'version'>,
): Bus | undefined {
  if (servers === undefined) return undefined;
  const access = { servers, ca: ca ?? busPlaces(data).authority, credentials: credentials ?? own };
  return new Bus({ ...access, ...(worker !== undefined && { worker }) }, log);
}
