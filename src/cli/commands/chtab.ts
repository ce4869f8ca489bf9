import type { CliCommand } from '../invocation.ts';
import { errorLine, referenceVersion } from '../lines.ts';
import { writeTables } from '../table-writes.ts';

export const command: CliCommand = {
  usage: `Usage: chtab COLUMN=VALUE[,COLUMN=VALUE...] TABLE.COLUMN=VALUE [...]
       chtab -d COLUMN=VALUE[,COLUMN=VALUE...] TABLE [...]
       chtab -h | --help | -v | --version

Changes the rows that have the given values, or makes one; with -d it removes them.`,
  run: (invocation) =>
    writeTables(invocation, {
      usage: command.usage,
      version: () => `chtab Version ${referenceVersion}`,
      unknownTable({ stdout }, table) {
        stdout.line(`Table ${table} does not exist.`);
        return 1;
      },
      unknownColumn({ stderr }, column) {
        stderr.line(errorLine(`There is no column ${column}.`));
        return 2;
      },
    }),
};
