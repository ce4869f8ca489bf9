import type { Duty } from '../../src/bus/index.ts';
import { createLog } from '../../src/core/log.ts';
import { Duties } from '../../src/worker/duties/duties.ts';
import type { WorkerSettings } from '../../src/worker/settings.ts';

/** What a worker runs for its nodes, in a network of its own; each line of output is what it serves, and why it does not. */
export interface DriverOptions {
  readonly settings: WorkerSettings;
  readonly directory: string;
  readonly duty: Duty;
}

const { settings, directory, duty } = JSON.parse(process.argv[2]!) as DriverOptions;
const duties = new Duties({
  settings,
  directory,
  log: createLog('silent'),
  changed: () => console.log(JSON.stringify({ serves: duties.serves, problems: duties.problems })),
});
duties.take(duty);
process.once('SIGTERM', () => void duties.close().then(() => process.exit(0)));
