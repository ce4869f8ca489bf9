// Run inside a network namespace whose loopback interface has the address ADDRESS: a machine boots the installer of Debian 12 with what
// muster tells it. Prints what was seen as JSON.
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Installation } from './installer-machine.ts';

const [address = '', patience = ''] = process.argv.slice(2);
const installer = '/usr/lib/debian-installer/images/12/amd64/text/debian-installer/amd64';
const installation = await Installation.start({
  address,
  os: 'debian12',
  fill(tree, netboot) {
    for (const name of ['linux', 'initrd.gz']) cpSync(join(installer, name), join(netboot, name));
    // The first thing that it looks for on a mirror; it gets no further, as there are no packages.
    mkdirSync(join(tree, 'dists/bookworm'), { recursive: true });
    writeFileSync(join(tree, 'dists/bookworm/Release'), 'Origin: Debian\nSuite: stable\nCodename: bookworm\n');
  },
});
try {
  installation.bootInstaller();
  const isDone = await installation.until(
    (steps) => steps.some((line) => line.endsWith('/Release')),
    Date.now() + Number(patience),
  );
  const [steps, status] = [await installation.steps(), await installation.attribute('status')];
  console.log(JSON.stringify({ steps, status, ...(isDone ? {} : installation.shown()) }));
} finally {
  await installation.stop();
}
