import './core/source-lines.ts';
import { Command, Option } from 'commander';
import { enableCompileCache } from 'node:module';
import { Type } from 'typebox';
import { FileOutput } from './cli/output.ts';
import { allSettings, loadConfig } from './config.ts';
import { compileCache } from './core/home.ts';
import { dropVariables } from './core/environment.ts';
import { Fault } from './core/errors.ts';
import { complain } from './core/line-sink.ts';
import { entriesOf, type Flags } from './load-settings.ts';
import { version } from './version.ts';

enableCompileCache(compileCache);

const program = new Command('muster')
  .description('Cluster management over HTTPS. Without a command it serves.')
  .version(version)
  .option('--config <file>', 'settings in TOML')
  .showHelpAfterError();

for (const { option, setting, defaultText } of entriesOf(allSettings)) {
  if (option === undefined) continue;
  const several = Type.IsArray(setting);
  const description = `${setting.description}${several ? '; may be given several times' : ''}`;
  const flag = new Option(
    `${option} <${setting.flag}>`,
    `${description} (default: ${defaultText.replaceAll('`', '')})`,
  );
  if (several) flag.argParser((value, list: string[] | undefined) => [...(list ?? []), value]);
  program.addOption(flag);
}

const settings = () => {
  const config = loadConfig(program.opts<Flags>(), process.env);
  // Passwords among them; what muster starts, as named, Kea and ssh, has no use for them.
  dropVariables(Object.keys(process.env).filter((name) => name.startsWith('MUSTER_')));
  return config;
};

program.action(async () => {
  const { serve } = await import('./serve.ts');
  await serve(settings());
});

program
  .command('backup <file>')
  .description('copy the data of a running or stopped server, database and keys, into one file')
  .action(async (file: string) => {
    const { backup } = await import('./admin/backup.ts');
    await backup(settings().data, file);
  });

program
  .command('restore <file>')
  .description('put a backup back; the server must be stopped')
  .option('--replace', 'replace the data that is there')
  .action(async (file: string, options: { replace?: boolean }) => {
    const { restore } = await import('./admin/restore.ts');
    await restore(settings().data, file, { replace: options.replace ?? false });
  });

program
  .command('export <dir>')
  .description('write one CSV file per table; the server must be stopped')
  .option('--with-secrets', 'write secrets in clear text instead of ********')
  .action(async (dir: string, options: { withSecrets?: boolean }) => {
    const { exportTables } = await import('./admin/export.ts');
    await exportTables(settings().data, dir, { withSecrets: options.withSecrets ?? false });
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
      const report = await importTables(settings().data, dir, options);
      await print(JSON.stringify(report, null, 2));
    },
  );

program
  .command('sshkey')
  .description('print the public key that muster logs in to nodes with, and make the key if there is none')
  .action(async () => {
    const { openSshKeys } = await import('./nodes/index.ts');
    await print(openSshKeys(settings().data).publicKey);
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
