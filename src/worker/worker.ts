import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import type { BootSettings } from '../boot/index.ts';
import { busPlaces, type BusSettings, isWorkerName, openWorkerEnd } from '../bus/index.ts';
import * as commands from '../commands/index.ts';
import type { AnyPerNode } from '../commands/per-node.ts';
import type { Command } from '../commands/command.ts';
import { Fault } from '../core/errors.ts';
import { say } from '../core/line-sink.ts';
import { reportReady, reportStopping } from '../core/service-manager.ts';
import type { Logger } from '../core/log.ts';
import { openBootListeners, servesBoots } from './boot-listeners.ts';
import { RemoteBoots } from './boot-source.ts';
import { CarriedConsoles } from './carried-consoles.ts';
import { Duties } from './duties/duties.ts';
import { FileStore } from './file-store.ts';
import { OwnServices } from './services.ts';
import type { WorkerSettings } from './settings.ts';
import { takeJob, type Workplace } from './taken-job.ts';

interface Settings {
  readonly data: string;
  readonly bus: BusSettings;
  readonly hardware: ConstructorParameters<typeof OwnServices>[0]['hardware'];
  readonly remote: ConstructorParameters<typeof OwnServices>[0]['remote'];
  readonly boot: BootSettings;
  readonly worker: WorkerSettings;
}

interface WorkerOptions {
  /** The name that the attribute `servicenode` of its nodes gives. */
  readonly name: string;
  readonly version: string;
  readonly log: Logger;
  readonly stop: Promise<void>;
  /** Aborted when running jobs are not waited for any more. */
  readonly hurry: AbortSignal;
}

/** Does jobs of servers until it is asked to stop. It has no database, and listens only for machines that boot, where that is set. */
export async function work(settings: Settings, options: WorkerOptions): Promise<void> {
  const { name, version, log, stop, hurry } = options;
  const { data, bus, remote } = settings;
  if (!isWorkerName(name))
    throw new Fault(
      'invalid',
      `"${name}" is not a name for a worker; give the name that servicenode has, such as sn1.`,
    );
  if (bus.servers === undefined)
    throw new Fault('invalid', 'A worker needs the setting bus.servers, such as ["tls://nats1.cluster:4222"].');
  if (remote.transport === 'process')
    throw new Fault(
      'invalid',
      'A worker cannot use the ssh command: it has no key in a file. Remove the setting remote.transport here.',
    );
  const services = new OwnServices(settings);
  const consoles = new CarriedConsoles(services, log);
  const files = new FileStore(busPlaces(data).files(name), bus.fileCache);
  let [jobs, nodes, isStopping] = [0, 0, false];
  const place: Workplace = {
    services,
    files,
    consoles,
    log,
    commandNamed,
    objection: () => (isStopping ? `the worker ${name} is stopping.` : undefined),
    count: (more) => {
      nodes += more;
      jobs += more > 0 ? 1 : -1;
    },
  };
  const duties = new Duties({
    settings: settings.worker,
    directory: busPlaces(data).duties(name),
    log,
    changed: () => end.announce(),
  });
  const end = openWorkerEnd(bus, data, {
    name,
    version,
    log,
    load: () => ({ jobs, nodes }),
    services: () => ({
      serves: [...(servesBoots(settings.boot) ? ['boot' as const] : []), ...duties.serves],
      problems: duties.problems,
      duties: duties.versions,
    }),
    takeDuty: (duty) => duties.take(duty),
    take: (channel) => takeJob(channel, place),
  })!;
  const closeListeners = await openBootListeners(settings.boot, new RemoteBoots(end, files), log);
  say(`muster worker ${name} ready on ${hostname()}\n`);
  reportReady(`Worker ${name}`, (sentence) => log.warn(sentence));
  await stop;
  reportStopping();
  isStopping = true;
  end.stop();
  await consoles.stop();
  while (jobs > 0 && !hurry.aborted) await pause(50);
  await Promise.all([closeListeners(), duties.close()]);
  await end.close();
  await services.close();
}

const perNodeCommands = new Map(
  (Object.values(commands) as Command<unknown>[]).flatMap((command) =>
    command.kind === 'per-node' ? [[command.name, command as AnyPerNode] as const] : [],
  ),
);

const commandNamed = (name: string): AnyPerNode | undefined => perNodeCommands.get(name);
