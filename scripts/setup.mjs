// Brings node_modules in line with package-lock.json, makes sure node_modules/.bin/node is Node 24 or newer, and builds dist/.
// Runs before everything else, on whatever Node the machine has, so: plain JavaScript, nothing but built-ins.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const oldestBootstrap = 20;
const oldestRuntime = 24;

const checkout = dirname(dirname(fileURLToPath(import.meta.url)));
const modules = join(checkout, 'node_modules');
const lockFile = join(checkout, 'package-lock.json');
const stampFile = join(modules, '.muster-setup');
const runtime = join(modules, '.bin', 'node');
const turnFile = join(checkout, '.cache', 'setup.lock');

class SetupError extends Error {}

const say = (text) => process.stderr.write(`muster: ${text}\n`);
const major = (version) => Number(/^v?(\d+)\./.exec(version)?.[1] ?? 0);

function readOrNothing(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

/** Changes whenever node_modules has to. The platform is part of it: the Node binary is. */
function wantedStamp() {
  const hash = createHash('sha256').update(readFileSync(lockFile)).digest('hex');
  return `${hash} ${process.platform}-${process.arch}\n`;
}

/** Whether somebody has already installed exactly these packages (by `npm ci` or `npm install`). */
function installedByHand() {
  const installed = readOrNothing(join(modules, '.package-lock.json'));
  if (installed === undefined || !existsSync(runtime)) return false;
  const present = JSON.parse(installed).packages;
  const wanted = JSON.parse(readFileSync(lockFile, 'utf8')).packages;
  return Object.entries(wanted).every(([path, { version, optional, devOptional }]) => {
    if (path === '') return true;
    const there = present[path] !== undefined && existsSync(join(checkout, path));
    return there ? present[path].version === version : Boolean(optional || devOptional);
  });
}

function install() {
  const why = existsSync(modules) ? 'node_modules differs from package-lock.json' : 'node_modules is missing';
  say(`installing dependencies with npm ci, because ${why}`);
  // Development and optional packages are named because a user's npm settings may leave them out; Node itself is optional.
  const flags = ['--include=dev', '--include=optional', '--prefer-offline', '--no-audit', '--no-fund'];
  const result = spawnSync('npm', ['ci', ...flags, '--loglevel=error'], { cwd: checkout, stdio: ['ignore', 2, 2] });
  if (result.error) throw new SetupError(`cannot run npm (${result.error.message}). Install npm and start again.`);
  if (result.status !== 0) throw new SetupError('npm ci failed; its messages are above. Nothing was started.');
}

function runtimeServes() {
  const result = spawnSync(runtime, ['--version'], { encoding: 'utf8' });
  return result.status === 0 && major(result.stdout) >= oldestRuntime;
}

/** Leaves a Node that is new enough at node_modules/.bin/node. */
function provideRuntime() {
  if (runtimeServes()) return;
  if (major(process.version) < oldestRuntime) {
    throw new SetupError(
      `Node ${oldestRuntime} or newer is needed. This is Node ${process.version}, and there is no packaged one that runs ` +
        `on ${process.platform}-${process.arch}. Install Node ${oldestRuntime} and start again.`,
    );
  }
  rmSync(runtime, { force: true });
  mkdirSync(dirname(runtime), { recursive: true });
  symlinkSync(process.execPath, runtime);
}

function holderOf(file) {
  const pid = Number(readOrNothing(file));
  if (!pid) return undefined;
  try {
    process.kill(pid, 0);
    return pid;
  } catch (error) {
    return error.code === 'EPERM' ? pid : undefined;
  }
}

/** Moves the turn away before judging it: another waiter may have replaced the dead one by its own in between. */
function removeDeadTurn(aside) {
  try {
    renameSync(turnFile, aside);
    if (holderOf(aside) !== undefined) linkSync(aside, turnFile);
  } catch (error) {
    if (error.code !== 'ENOENT' && error.code !== 'EEXIST') throw error;
  }
  rmSync(aside, { force: true });
}

/** Runs `work` while no other process does, waiting for its turn. A turn whose process has died is taken over. */
function inTurn(work) {
  mkdirSync(dirname(turnFile), { recursive: true });
  const mine = `${turnFile}.${process.pid}`;
  writeFileSync(mine, `${process.pid}`);
  let waiting = false;
  try {
    for (;;) {
      try {
        linkSync(mine, turnFile);
        break;
      } catch (error) {
        if (error.code !== 'EEXIST') throw error;
      }
      const holder = holderOf(turnFile);
      if (holder === undefined) {
        removeDeadTurn(`${mine}.dead`);
      } else {
        if (!waiting) say(`waiting for process ${holder}, which is installing dependencies`);
        waiting = true;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
      }
    }
    try {
      return work();
    } finally {
      rmSync(turnFile, { force: true });
    }
  } finally {
    rmSync(mine, { force: true });
  }
}

function writeStamp(stamp) {
  writeFileSync(`${stampFile}.${process.pid}`, stamp);
  renameSync(`${stampFile}.${process.pid}`, stampFile);
}

/** bin/muster compares times only, so that the stamp must not look older than what it stands for. */
function freshen() {
  try {
    if (statSync(lockFile).mtimeMs >= statSync(stampFile).mtimeMs) utimesSync(stampFile, new Date(), new Date());
  } catch {
    // Somebody else's checkout: it is looked at again each time.
  }
}

function setup() {
  if (major(process.version) < oldestBootstrap) {
    throw new SetupError(`Node ${oldestBootstrap} or newer is needed to install; this is Node ${process.version}.`);
  }
  const stamp = wantedStamp();
  const done = () => readOrNothing(stampFile) === stamp && existsSync(runtime);
  if (done()) return freshen();
  try {
    inTurn(() => {
      if (done()) return;
      if (!installedByHand()) install();
      provideRuntime();
      writeStamp(stamp);
    });
  } catch (error) {
    // Somebody else's checkout that lacks nothing but our stamp is good enough to run.
    const readOnly = error.code === 'EACCES' || error.code === 'EROFS';
    if (!(readOnly && installedByHand() && runtimeServes())) throw error;
  }
}

/** Makes dist/ from the sources as they are. */
function build() {
  const { status, stderr } = spawnSync(runtime, [join(checkout, 'scripts/build.ts')], { encoding: 'utf8' });
  if (status === 0) return;
  const reason = /EACCES|EROFS/.test(stderr)
    ? `${checkout} cannot be written by this user; let its owner run bin/muster once`
    : stderr.trim();
  throw new SetupError(`dist/ could not be built: ${reason}. MUSTER_SOURCES=1 runs the sources instead.`);
}

try {
  setup();
  build();
} catch (error) {
  say(error instanceof SetupError ? error.message : `setup failed: ${error.message}`);
  process.exitCode = 1;
}
