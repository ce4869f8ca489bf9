import { openWorkerEnd } from '../src/bus/index.ts';
import { createLog } from '../src/core/log.ts';
import { version } from '../src/version.ts';

/** Many workers without work in one process: `idle-workers.ts DATA URL PREFIX COUNT`, with their keys below DATA. */
const [data, url, prefix, count] = process.argv.slice(2) as [string, string, string, string];
const log = createLog('error');
for (let i = 1; i <= Number(count); i++) {
  const load = () => ({ jobs: 0, nodes: 0 });
  const services = () => ({ serves: [], problems: [], duties: {} });
  const take = async () => undefined;
  const options = { name: `${prefix}${i}`, version, log, load, services, takeDuty: () => undefined, take };
  openWorkerEnd({ servers: [url], jobSeconds: 1, fileCache: 0 }, data, options);
}
console.log('ready');
