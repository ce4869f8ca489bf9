import { parseArgs } from 'node:util';
import { auditing } from './auditing.ts';
import { bodies } from './bodies.ts';
import { bootstate } from './bootstate.ts';
import { boot } from './boot.ts';
import { bootTime } from './boot-time.ts';
import { chaos } from './chaos.ts';
import { commandLine } from './command-line.ts';
import { consolePages } from './console-pages.ts';
import { consoles } from './consoles.ts';
import { dhcp } from './dhcp.ts';
import { dhcpLosses } from './dhcp-losses.ts';
import { dns } from './dns.ts';
import { events } from './events.ts';
import { growth } from './growth.ts';
import { hardware } from './hardware.ts';
import { history } from './history.ts';
import { hosts } from './hosts.ts';
import { images } from './images.ts';
import { imagesBuild } from './images-build.ts';
import { imagesOci } from './images-oci.ts';
import { large } from './large.ts';
import { listing } from './listing.ts';
import { longWork } from './long-work.ts';
import { million } from './million.ts';
import { nodestat } from './nodestat.ts';
import { bindTo, clientCore } from './process.ts';
import { type Benchmark, formatRow, heading, isMet } from './report.ts';
import { servers } from './servers.ts';
import { single } from './single.ts';
import { ssh } from './ssh.ts';
import { stalls } from './stalls.ts';
import { ensureTools } from './tools.ts';
import { vm } from './vm.ts';
import { webConsole } from './web-console.ts';
import { writes } from './writes.ts';

const benchmarks: Benchmark[] = [
  listing,
  single,
  auditing,
  bodies,
  large,
  commandLine,
  writes,
  servers,
  chaos,
  growth,
  million,
  history,
  events,
  webConsole,
  consoles,
  consolePages,
  bootstate,
  ...hardware,
  nodestat,
  ...ssh,
  vm,
  hosts,
  dns,
  dhcp,
  dhcpLosses,
  ...boot,
  longWork,
  imagesBuild,
  imagesOci,
  images,
  bootTime,
  stalls,
];

const { values } = parseArgs({ options: { only: { type: 'string', multiple: true } } });
const chosen = benchmarks.filter(({ name, takesLong }) => values.only?.includes(name) ?? !takesLong);
if (chosen.length === 0) {
  console.error(`--only takes one of ${benchmarks.map(({ name }) => name).join(', ')}.`);
  process.exit(2);
}

await ensureTools();
// Servers run on one core, this process and the other clients on the other.
await bindTo(clientCore);
let missed = 0;
console.log(heading);
for (const benchmark of chosen) {
  // Some take minutes before their first row.
  console.error(`${benchmark.name} ...`);
  for await (const row of benchmark.rows()) {
    console.log(formatRow(row));
    if (!isMet(row)) missed++;
  }
}
console.log(missed === 0 ? 'Every bar was met.' : `${missed} bars were not met.`);
