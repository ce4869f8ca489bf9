import type { CliCommand, Invocation } from '../invocation.ts';
import { errorLine, referenceVersion } from '../lines.ts';
import { writeTables } from '../table-writes.ts';

const refuse = ({ stderr, client }: Invocation, text: string): number => {
  stderr.line(errorLine(text, client.server));
  return 1;
};

export const command: CliCommand = {
  usage: `Usage: tabch COLUMN=VALUE[,COLUMN=VALUE...] TABLE.COLUMN=VALUE [...]
       tabch -d COLUMN=VALUE[,COLUMN=VALUE...] TABLE [...]
       tabch -h | --help | -v | --version

Changes the rows that have the given values, or makes one; with -d it removes them.`,
  run: (invocation) =>
    writeTables(invocation, {
      usage: command.usage,
      version: () => `Version ${referenceVersion}`,
      unknownTable: (given, table) => refuse(given, `${table} not a valid table.column description`),
      unknownColumn: (given, column) => refuse(given, `${column} not a valid table.column description`),
    }),
};
