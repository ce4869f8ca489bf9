import { execFile } from 'node:child_process';
import { constants, copyFileSync, lstatSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { arch, hostname, release, tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Client } from '../client.ts';
import { type Invocation, musterCommand, say, xcatCommand } from '../command.ts';
import { Refused } from '../errors.ts';
import { linesWithoutSecrets, withoutSecrets } from '../muster/hidden-secrets.ts';
import { filled, flag } from '../options.ts';

const run = promisify(execFile);

const about = `Gathers facts about the server for somebody who helps you, as a tar archive: version, what muster doctor finds, metrics, definitions,
tables, changes and runs, and on the management node the last lines of the log, from the journal and the file of the setting logFile.
Passwords and other secrets are not in it, nor what looks like one in addresses, arguments and comments. Names and addresses of nodes are:
look at it before you send it.`;

export const support = musterCommand({
  usage: `Usage: muster support [-d DIR]

${about}`,
  options: { d: filled('DIR', 'write the archive to this directory; else to the current one') },
  async run(invocation, call) {
    const file = await gather(invocation, call.value('d') ?? '.', 'muster-support');
    return say(invocation, `${file} has been written. Look at it before you send it.`);
  },
});

export const xcatsnap = xcatCommand({
  usage: `Usage: xcatsnap [-d DIR]

${about} muster support does the same.`,
  options: {
    'd|dir': filled('DIR', 'write the archive to this directory; else to /tmp/xcatsnap'),
    'B|bypass': flag('accepted for scripts; muster asks its server in any case'),
  },
  operands: 0,
  async run(invocation, call) {
    const file = await gather(invocation, call.value('d') ?? '/tmp/xcatsnap', 'xcatsnap');
    return say(invocation, `Data gathered. Look at it, and then send ${file} to whoever supports you.`);
  },
});

/** Rows of these are many, or nobody's business. */
const leftOut = new Set(['auditlog', 'eventlog', 'token', 'siteaccount', 'oidcgrant']);

const requests: Readonly<Record<string, string>> = {
  'health.json': '/health',
  'doctor.json': '/doctor',
  'servers.json': '/servers',
  'site.json': '/globalconf',
  'definitions.json': '/definitions',
  'discovery.json': '/discovery',
  'changes.json': '/changes?limit=200',
  'runs.json': '/runs?limit=1000',
};

/** Writes the archive, for its caller alone, and answers its path. */
async function gather(invocation: Invocation, directory: string, title: string): Promise<string> {
  const { client } = invocation;
  const time = new Date().toISOString().replaceAll(/[-:]|\..*/g, '');
  const target = resolve(directory);
  mkdirSync(target, { recursive: true, mode: 0o700 });
  checkNobodyElses(target);
  const file = join(target, `${title}.${hostname()}.${time}.tar.gz`);
  const work = mkdtempSync(join(tmpdir(), 'muster-support-'));
  try {
    const facts = join(work, basename(file, '.tar.gz'));
    mkdirSync(join(facts, 'tables'), { recursive: true });
    const write = (name: string, text: string): void => writeFileSync(join(facts, name), text, { mode: 0o600 });
    const missing: string[] = [];
    write('client.txt', clientFacts(invocation));
    const replies = new Map<string, unknown>();
    for (const [name, at] of Object.entries(requests))
      await collect(name, async () => void replies.set(name, await client.get(at)), missing);
    for (const [name, reply] of replies) write(name, shown(reply));
    await collect('metrics.txt', async () => write('metrics.txt', await client.text('/metrics')), missing);
    for (const table of await tablesOf(client, missing))
      await collect(
        `tables/${table}`,
        async () => write(`tables/${table}.json`, shown(await client.get(`/tables/${table}/dump`))),
        missing,
      );
    if (client.place.protocol === 'unix:') {
      write('log.txt', await lastLog());
      const { logFile } = (replies.get('doctor.json') ?? {}) as { readonly logFile?: unknown };
      if (typeof logFile === 'string') write('log-file.txt', await endOfLogFile(logFile));
    }
    if (missing.length > 0) write('missing.txt', `${missing.join('\n')}\n`);
    const archive = join(work, 'archive');
    // It is empty before anybody else could open it.
    writeFileSync(archive, '', { mode: 0o600 });
    await run('tar', ['-czf', archive, '-C', dirname(facts), basename(facts)]);
    // Over nothing that is there already, and through no link.
    copyFileSync(archive, file, constants.COPYFILE_EXCL);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  return file;
}

/** Whoever owns the directory, or may change it, could put another file or link in the place of the archive. */
function checkNobodyElses(directory: string): void {
  const own = [0, process.getuid!()];
  const { mode, uid } = statSync(directory);
  const isOpenToAll = (mode & 0o1002) === 0o0002;
  if (isOpenToAll || ![uid, lstatSync(directory).uid].every((owner) => own.includes(owner)))
    throw new Error(
      `${directory} belongs to another user, or everybody can change it. Name a directory of your own: -d DIR`,
    );
}

/** What the caller may not read is named in the archive. */
async function collect(name: string, work: () => Promise<void>, missing: string[]): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    missing.push(`${name}: ${error.sentences.join(' ')}`);
  }
}

async function tablesOf(client: Client, missing: string[]): Promise<string[]> {
  const tables: string[] = [];
  await collect('tables', async () => void tables.push(...((await client.get('/tables')) as string[])), missing);
  return tables.filter((name) => !leftOut.has(name));
}

const shown = (value: unknown): string => `${JSON.stringify(withoutSecrets(value), null, 2)}\n`;

const clientFacts = ({ client, env }: Invocation): string =>
  [
    `server: ${client.place.shown}`,
    `time: ${new Date().toISOString()}`,
    `host: ${hostname()}, Linux ${release()}, ${arch()}, Node ${process.version}`,
    ...Object.keys(env)
      .filter((name) => /^(MUSTER|XCAT|DSH)/.test(name))
      .sort()
      .map((name) => `${name} is set`),
    '',
  ].join('\n');

const lines = 2_000;
/** Of the log file: the lines are in less. */
const mostBytes = 4 << 20;

async function lastLog(): Promise<string> {
  try {
    // Without what the journal puts before each line: most are JSON, and have their time.
    const words = ['-u', 'muster', '-n', String(lines), '--no-pager', '-o', 'cat'];
    return linesWithoutSecrets((await run('journalctl', words, { maxBuffer: 64 * 1024 * 1024 })).stdout);
  } catch (error) {
    return `The log cannot be read here: ${(error as Error).message}\n`;
  }
}

/** The last lines of the file that the server logs to. It writes lines of JSON; whatever else is there is not its log. */
async function endOfLogFile(path: string): Promise<string> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const state = await file.stat();
      if (!state.isFile()) return `${path} is no file with lines of a log.\n`;
      const length = Math.min(state.size, mostBytes);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, state.size - length);
      const found = buffer.toString('utf8', 0, bytesRead).split('\n').filter(isJson).slice(-lines);
      return linesWithoutSecrets([...found, ''].join('\n'));
    } finally {
      await file.close();
    }
  } catch (error) {
    return `The log file cannot be read here: ${(error as Error).message}\n`;
  }
}

function isJson(line: string): boolean {
  if (!line.startsWith('{')) return false;
  try {
    return typeof JSON.parse(line) === 'object';
  } catch {
    return false;
  }
}
