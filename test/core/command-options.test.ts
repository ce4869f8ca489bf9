import { expect, test } from 'vitest';
import {
  chvm as cliChvm,
  clonevm as cliClonevm,
  mkvm as cliMkvm,
  rmigrate as cliRmigrate,
  rmvm as cliRmvm,
} from '../../src/cli/commands/vm.ts';
import { optionBody, optionTable, optionUsage } from '../../src/cli/command-options.ts';
import { parseOptions } from '../../src/cli/options.ts';
import { chvm, clonevm, mkvm, rmigrate, rmvm } from '../../src/commands/index.ts';
import { type CommandOptions, memberOf } from '../../src/core/command-options.ts';
import { machineOptions } from '../../src/core/machine-options.ts';
import type { Input } from '../../src/rest/endpoints/endpoint.ts';
import { vm } from '../../src/rest/endpoints/vm.ts';

const helpOf = { chvm: cliChvm, clonevm: cliClonevm, mkvm: cliMkvm, rmigrate: cliRmigrate, rmvm: cliRmvm };

const input = (body: object) => ({ params: { noderange: 'v1' }, body }) as unknown as Input;

/** What is called on the command line is what the server judges and notes. */
test.each([
  ['mkvm', mkvm, '-s 10,20 --mem 4G --cpus 2 -f'],
  ['mkvm', mkvm, ''],
  ['chvm', chvm, '-a 10 -p vdb,vdc --resize vda=20 --mem 2048 --cpus 4 -f'],
  ['rmvm', rmvm, '-p -f'],
  ['clonevm', clonevm, '-t gold -f'],
  ['clonevm', clonevm, '-b gold -d'],
  ['rmigrate', rmigrate, 'hv2'],
] as const)(
  '%s has the same options on the command line, in REST and in its argument line: %s',
  (name, command, line) => {
    const words = line.split(' ').filter(Boolean);
    const options: CommandOptions = machineOptions[name];
    const given = parseOptions(words, optionTable(options));
    const body = optionBody(options, given, given.operands);
    const row = vm.find((each) => each.command.name === name)!;
    expect(command.line(row.args(input(body)) as never)).toEqual(words);
  },
);

test.each(Object.entries(machineOptions))('%s shows every option in its help and its reference', (name, options) => {
  const help = helpOf[name as keyof typeof machineOptions].usage.replaceAll(/\s+/g, ' ');
  const row = vm.find((each) => each.command.name === name)!;
  const { properties } = row.body as unknown as {
    readonly properties: Record<string, { readonly description: string }>;
  };
  expect(Object.keys(properties)).toEqual(Object.entries(options).map(memberOf));
  for (const entry of Object.entries<CommandOptions[string]>(options)) {
    expect(properties[memberOf(entry)]!.description).toContain(entry[1].help);
    if (entry[1].option !== undefined) expect(help).toContain(entry[1].help);
  }
});

test('help shows options by their letters, and brackets around those that may be left out', () => {
  expect(optionUsage(machineOptions.mkvm)).toBe('[-s SIZE,...] [--mem SIZE] [--cpus NUMBER] [-f]');
  expect(optionUsage(machineOptions.rmigrate)).toBe('TARGET');
});
