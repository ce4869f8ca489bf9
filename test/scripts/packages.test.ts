import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const packages = join(import.meta.dirname, '../../scripts/packages.ts');

/** Locks of the machine are those of others: apt has its directories to itself here, with changes in memory. */
const ownDirectories = `
set -e
mount -t tmpfs tmpfs "$1"
for each in /var/lib/dpkg /var/lib/apt /var/cache/apt; do
  mkdir -p "$1$each/changes" "$1$each/work"
  mount -t overlay overlay -o "lowerdir=$each,upperdir=$1$each/changes,workdir=$1$each/work" $each
done
`;

/** Takes dpkg's lock as apt does, tells so, and holds it until apt has come back for it. */
const holder = `
import fcntl, os, time
lock = open('/var/lib/dpkg/lock-frontend', 'w')
fcntl.lockf(lock, fcntl.LOCK_EX)
print('held', flush=True)
def asks():
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            words = open(f'/proc/{pid}/cmdline', 'rb').read().split(b'\\0')
            here = os.readlink(f'/proc/{pid}/ns/mnt') == os.readlink('/proc/self/ns/mnt')
            if here and words[0] == b'apt-get' and any(b'Lock::Timeout' in word for word in words):
                return True
        except OSError:
            pass
    return False
while not asks():
    time.sleep(0.1)
time.sleep(2)
`;

const install = `import { installMissing } from '${packages}';
installMissing([{ name: 'tar', program: '/nowhere/tar', why: 'it is there already' }], 'a test');`;

it('installing waits for somebody else who installs something', () => {
  const place = mkdtempSync(join(tmpdir(), 'muster-apt-'));
  const script = `${ownDirectories}
coproc HOLDER { /usr/bin/python3 -c "$2"; }
read -r word <&"\${HOLDER[0]}"
test "$word" = held
apt-get -qq install -y tar > /dev/null 2>&1 && echo 'the lock is not held' >&2
"$3" --input-type=module -e "$4"`;
  const { status, stderr } = spawnSync(
    'unshare',
    ['--mount', 'bash', '-c', script, 'test', place, holder, process.execPath, install],
    { encoding: 'utf8', env: { ...process.env, MUSTER_INSTALL: '' } },
  );
  rmSync(place, { recursive: true, force: true });
  expect(stderr).toContain('installing for a test');
  expect(stderr).not.toMatch(/failed|lock/);
  expect(status).toBe(0);
});
