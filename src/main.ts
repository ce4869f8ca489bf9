import './core/source-lines.ts';
import { Command, Option } from 'commander';
import { enableCompileCache } from 'node:module';
import { Type } from 'typebox';
import { FileOutput } from './cli/output.ts';
import { allSettings, dataPlace, loadConfig } from './config.ts';
import { compileCache } from './core/home.ts';
import { dropVariables } from './core/environment.ts';
import { Fault } from './core/errors.ts';
import { complain } from './core/line-sink.ts';
import type { JoinOptions } from './join.ts';
import { entriesOf, type Flags } from './load-settings.ts';
import { stopSignals } from './stop-signals.ts';
import { version } from './version.ts';

enableCompileCache(compileCache);

const program = new Command('muster')
  .description('Cluster management over HTTPS. Without a command it serves.')
  .version(version)
  .option('--config <file>', 'settings in TOML')
  .showHelpAfterError()
  .addHelpText(
    'after',
    '\nCommands on nodes, such as lsdef and rpower, are clients of a server: "muster help" lists them.',
  );

const list = (value: string, given: readonly string[]): string[] => [...given, value];

for (const { option, setting, defaultText } of entriesOf(allSettings)) {
  if (option === undefined) continue;
  const several = Type.IsArray(setting);
  const description = `${setting.description}${several ? '; may be given several times' : ''}`;
  const flag = new Option(
    `${option} <${setting.flag}>`,
    `${description} (default: ${defaultText.replaceAll('`', '')})`,
  );
  if (several) flag.argParser((value, given: string[] | undefined) => list(value, given ?? []));
  program.addOption(flag);
}

const settings = () => {
  const config = loadConfig(program.opts<Flags>(), process.env);
  // Passwords among them; what muster starts, as named, Kea and ssh, has no use for them.
  dropVariables(Object.keys(process.env).filter((name) => name.startsWith('MUSTER_')));
  return config;
};

/** The settings of commands that work on the database in the data directory. */
const localSettings = (command: string) => {
  const config = settings();
  const { data, database } = config;
  if (database === undefined) return config;
  throw new Fault('unavailable', [
    `muster ${command} works on the SQLite database of a data directory, and the setting database names PostgreSQL.`,
    `Save such a database with pg_dump, together with ${data}/secret.key.`,
  ]);
};

/** The data directory of such a command. */
const localData = (command: string): string => localSettings(command).data;

const start = async (): Promise<void> => {
  const { serve } = await import('./serve.ts');
  await serve(settings());
};

program.action(start);
program.command('serve').description('run the server, as muster does without a command').action(start);

program
  .command('backup [file]')
  .description(
    'copy the data of a running or stopped server, database and keys, into one file; or make backups in a directory by themselves',
  )
  .option('--schedule', 'make a backup in backup.directory now, and have one made there every night')
  .option('--rotate', 'make one there and remove those that need not be kept, as every night')
  .action(async (file: string | undefined, { schedule, rotate }: { schedule?: boolean; rotate?: boolean }) => {
    const { MUSTER_CONFIG, MUSTER_DATA } = process.env;
    const { config = MUSTER_CONFIG, data = MUSTER_DATA } = program.opts<{ config?: string; data?: string }>();
    if ([file !== undefined, schedule, rotate].filter(Boolean).length !== 1)
      throw new Fault('invalid', 'Name a file for the backup, or give one of --schedule and --rotate.');
    const { data: directory, backup: settingsOfBackups } = localSettings('backup');
    if (file !== undefined) {
      const { backup } = await import('./admin/backup.ts');
      await backup(directory, file);
    } else if (rotate) {
      const { rotateBackups } = await import('./admin/rotate-backups.ts');
      await print(`${await rotateBackups(directory, settingsOfBackups)} has been written.`);
    } else {
      const { scheduleBackups } = await import('./admin/schedule-backups.ts');
      await print(await scheduleBackups(directory, settingsOfBackups, { config, data }));
    }
  });

program
  .command('restore <file>')
  .description('put a backup back; the server must be stopped')
  .option('--replace', 'replace the data that is there')
  .action(async (file: string, options: { replace?: boolean }) => {
    const { restore } = await import('./admin/restore.ts');
    await restore(localData('restore'), file, { replace: options.replace ?? false });
  });

program
  .command('rollback-upgrade [time]')
  .description(
    'put back the database as it was before an upgrade changed it at this time; without a time, list the times; the server must be stopped',
  )
  .action(async (time: string | undefined) => {
    const { rollBackUpgrade } = await import('./admin/rollback-upgrade.ts');
    await print(rollBackUpgrade(localData('rollback-upgrade'), time));
  });

program
  .command('export <dir>')
  .description('write one CSV file per table; the server must be stopped')
  .option('--with-secrets', 'write secrets in clear text instead of ********')
  .action(async (dir: string, options: { withSecrets?: boolean }) => {
    const { exportTables } = await import('./admin/export.ts');
    await exportTables(localData('export'), dir, { withSecrets: options.withSecrets ?? false });
  });

program
  .command('import <dir>')
  .description('read CSV files, one per table, all or nothing; the server must be stopped')
  .option('--replace', 'replace the data that is there')
  .option('--skip-unknown', 'leave out unknown tables and columns')
  .option('--clean', 'mend control characters and masks such as 64, and report each')
  .option('--skip-bad-rows', 'leave out rows that are not valid, and report each')
  .action(
    async (
      dir: string,
      options: { replace?: boolean; skipUnknown?: boolean; clean?: boolean; skipBadRows?: boolean },
    ) => {
      const { importTables } = await import('./admin/import.ts');
      const report = await importTables(localData('import'), dir, options);
      await print(JSON.stringify(report, null, 2));
    },
  );

program
  .command('move')
  .description(
    'move all data to PostgreSQL (--to postgresql://...) or from there to SQLite (--to sqlite); the server must be stopped',
  )
  .requiredOption('--to <database>', 'postgresql://user@host/name, or sqlite')
  .action(async ({ to }: { to: string }) => {
    const { moveTo } = await import('./admin/move.ts');
    const config = settings();
    await print(JSON.stringify(await moveTo(dataPlace(config), to, config.databasePasswordFile), null, 2));
  });

program
  .command('join [file]')
  .description('write what a further server or a worker of the cluster needs into one file, or take it from there')
  .option('--export <file>', 'write the file, on a server of the cluster')
  .option('--worker <name>', 'write only what the worker of this name needs')
  .option('--passphrase-file <file>', 'file with the passphrase, instead of asking for it')
  .action(async (file: string | undefined, options: JoinOptions) => {
    const { join } = await import('./join.ts');
    await print(await join(settings(), file, options));
  });

program
  .command('sshkey')
  .description('print the public key that muster logs in to nodes with, and make the key if there is none')
  .action(async () => {
    const { openSshKeys } = await import('./nodes/index.ts');
    const { publicKey } = await openSshKeys(settings().data);
    await print(publicKey);
  });

program
  .command('worker')
  .description('work for servers on a service node, over NATS; needs no database')
  .requiredOption('--name <name>', 'name of the service node, as the attribute servicenode of its nodes has it')
  .action(async ({ name }: { name: string }) => {
    const { work } = await import('./worker/worker.ts');
    const { createLog } = await import('./core/log.ts');
    const config = settings();
    const { logLevel, logFile: path, logFileSize: size, logFilesKept: kept } = config;
    const log = createLog(logLevel, path === undefined ? undefined : { path, size, kept });
    await work(config, { name, version, log, ...stopSignals() });
  });

program
  .command('bus-config')
  .description('make keys and a certificate for NATS, and print a configuration for nats-server')
  .option(
    '--server <host:port>',
    'NATS server; may be given several times (default: the setting bus.servers)',
    list,
    [],
  )
  .option('--worker <name>', 'worker that gets a key; may be given several times', list, [])
  .action(async ({ server, worker }: { server: readonly string[]; worker: readonly string[] }) => {
    const { busConfig } = await import('./bus-config.ts');
    await print(await busConfig(settings(), { servers: server, workers: worker }));
  });

/** What was asked for must arrive, or the exit status says that it did not. */
async function print(text: string): Promise<void> {
  const output = new FileOutput(1, 'standard output', () => false, false);
  output.line(text);
  await output.flush();
}

try {
  await program.parseAsync();
} catch (error) {
  const sentences = error instanceof Fault ? error.sentences : [error instanceof Error ? error.message : String(error)];
  complain(`${sentences.map((sentence) => `muster: ${sentence}`).join('\n')}\n`);
  // Whatever is still open must not keep a process that serves nobody.
  process.exit(1);
}
