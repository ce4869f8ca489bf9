// Debian 13's installer from beginning to end, in an emulated machine: about half an hour. Not part of the tests, as it takes so long.
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DebianInstallerMirror } from '../test/lab/debian-installer-mirror.ts';
import { makeNamespace } from '../test/lab/netns.ts';
import { installMissing, testPackages } from './packages.ts';

const address = '10.78.0.1';
const minutes = '120';

installMissing(testPackages, 'the installer');
const directory = join(tmpdir(), 'muster-debian13-mirror');
mkdirSync(directory, { recursive: true });
await new DebianInstallerMirror(directory, (line) => console.log(line)).make();
const namespace = makeNamespace();
try {
  namespace.run('ip', 'address', 'add', `${address}/32`, 'dev', 'lo');
  const driver = join(import.meta.dirname, '../test/boot/whole-installation.ts');
  const [program, ...args] = namespace.command(process.execPath, driver, address, directory, minutes);
  execFileSync(program, args, { stdio: 'inherit' });
} finally {
  namespace.remove();
}
