import { readFileSync } from 'node:fs';
import { isatty } from 'node:tty';
import { resolve } from 'node:path';
import {
  type BusPlace,
  contentsForServer,
  contentsForWorker,
  dataDirectory,
  type JoinContents,
} from './admin/join-contents.ts';
import { readJoinFile, refuseExisting, takeIn, writeJoinFile } from './admin/join.ts';
import { askSecret } from './cli/ask.ts';
import { type Config, dataPlace } from './config.ts';
import { Fault } from './core/errors.ts';
import { quoteWord } from './core/shell-words.ts';
import { isLocalHost, shownPlace } from './database/postgresql/place.ts';

export interface JoinOptions {
  /** The file to write; undefined: `file` is read. */
  readonly export?: string;
  readonly worker?: string;
  readonly passphraseFile?: string;
}

/** `muster join`: writes what a further server or a worker needs, or puts it in place. What there is to say comes back. */
export function join(config: Config, file: string | undefined, options: JoinOptions): Promise<string> {
  if (options.export !== undefined && file !== undefined)
    throw new Fault('invalid', 'Name one file: muster join --export FILE writes it, muster join FILE reads it.');
  if (options.export !== undefined) return exportTo(config, options.export, options);
  if (options.worker !== undefined) throw new Fault('invalid', '--worker is for muster join --export FILE alone.');
  if (file === undefined)
    throw new Fault(
      'invalid',
      'Name a file: muster join --export FILE on a server, muster join FILE on the new machine.',
    );
  return takeFrom(config, file, options);
}

async function exportTo(config: Config, file: string, { worker, passphraseFile }: JoinOptions): Promise<string> {
  refuseExisting(file);
  const daemons = { names: config.names.server, dhcp: config.dhcp.server };
  const source = { ...dataPlace(config), hasOwnCertificate: config.tls !== undefined, bus: busPlace(config), daemons };
  const contents = worker === undefined ? await contentsForServer(source) : contentsForWorker(source, worker);
  await writeJoinFile(file, await newPassphrase(passphraseFile), contents);
  const whom = worker === undefined ? 'a further server' : `the worker ${worker}`;
  const { postgres } = source;
  return [
    `${file} has what ${whom} needs: ${namesOf(contents)}.`,
    ...(worker === undefined && postgres && isLocalHost(postgres)
      ? [
          `The setting database names ${shownPlace(postgres)}, which only this machine reaches. A server elsewhere needs an address.`,
        ]
      : []),
    ...(source.hasOwnCertificate && worker === undefined
      ? ['The setting tls.certificate is set here: give the new server a certificate of its own, too.']
      : []),
    `Copy it to the new machine and run there: muster --data DIR join ${quoteWord(file)}`,
    'Whoever has the file and its passphrase has these keys. Remove it when the new machine has joined.',
  ].join('\n');
}

async function takeFrom({ data }: Config, file: string, { passphraseFile }: JoinOptions): Promise<string> {
  const contents = await readJoinFile(file, await passphraseOf(passphraseFile, `Passphrase of ${file}: `));
  takeIn(data, contents);
  const directory = resolve(data);
  const start = contents.worker === undefined ? 'serve' : `worker --name ${quoteWord(contents.worker)}`;
  return [
    `${directory} has what was written on ${contents.from}, ${contents.made}: ${namesOf(contents)}.`,
    'Write these lines into the settings of this machine, such as /etc/muster/muster.toml:',
    '',
    ...settingLines(contents, directory),
    '',
    `Then start muster: muster --data ${quoteWord(directory)} --config /etc/muster/muster.toml ${start}`,
    `Remove ${file} here and where it was written.`,
  ].join('\n');
}

const namesOf = ({ files }: JoinContents): string => files.map(({ path }) => path).join(', ');

function settingLines({ database, bus, daemons, files }: JoinContents, directory: string): string[] {
  const text = (value: string): string => JSON.stringify(value);
  const password = files.find(({ path }) => path === 'database/password');
  return [
    ...(database === undefined ? [] : [`database = ${text(urlIn(directory, database))}`]),
    ...(password ? [`databasePasswordFile = ${text(`${directory}/${password.path}`)}`] : []),
    ...(bus.length === 0 ? [] : ['[bus]', `servers = [${bus.map(text).join(', ')}]`]),
    ...(daemons === undefined ? [] : ['[names]', `server = ${text(daemons.names)}`]),
    ...(daemons === undefined ? [] : ['[dhcp]', `server = ${text(daemons.dhcp)}`]),
  ];
}

/** The URL of the database with the paths that its files have here. */
function urlIn(directory: string, database: string): string {
  const url = new URL(database);
  for (const [name, value] of new URL(database).searchParams)
    if (value.startsWith(dataDirectory)) url.searchParams.set(name, directory + value.slice(dataDirectory.length));
  return url.href;
}

/** How the message bus is reached, where the settings have it. */
function busPlace(config: Pick<Config, 'bus'>): BusPlace {
  const { servers = [], ca, credentials } = config.bus;
  return { servers, ca, credentials };
}

const shortest = 12;

async function newPassphrase(file: string | undefined): Promise<string> {
  const passphrase = await passphraseOf(file, 'New passphrase: ');
  if (passphrase.length < shortest)
    throw new Fault(
      'invalid',
      `The file will hold keys of the cluster: take a passphrase of at least ${shortest} characters.`,
    );
  if (file === undefined && (await passphraseOf(file, 'The same again: ')) !== passphrase)
    throw new Fault('invalid', 'The two passphrases are not the same. Nothing was written.');
  return passphrase;
}

async function passphraseOf(file: string | undefined, question: string): Promise<string> {
  if (file === undefined) {
    const terminal = { stdin: isatty(0) };
    if (terminal.stdin) return askSecret(question, terminal);
    throw new Fault(
      'invalid',
      'There is no terminal to ask for the passphrase: name a file that has it with --passphrase-file.',
    );
  }
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    throw new Fault('invalid', `The passphrase cannot be read: ${(error as Error).message}.`);
  }
}
