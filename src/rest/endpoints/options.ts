import { type TProperties, Type } from 'typebox';
import { type CommandOption, type CommandOptions, memberOf } from '../../core/command-options.ts';
import { Fault } from '../../core/errors.ts';
import { valueText } from './definition-body.ts';
import { type Input, members } from './endpoint.ts';

/** The body of a row whose command has these options. */
export const optionMembers = (options: CommandOptions) =>
  members(
    Object.fromEntries(Object.entries(options).map((entry) => [memberOf(entry), schemaOf(entry[1])])) as TProperties,
  );

function schemaOf({ kind, help: description }: CommandOption) {
  if (kind === 'flag') return Type.Optional(Type.Enum(['yes', 'no'], { description: `yes: ${description}` }));
  if (kind === 'text') return Type.Optional(Type.String({ description }));
  return Type.Optional(Type.Union([Type.String(), Type.Number()], { description }));
}

type ValueOf<Option extends CommandOption> = Option['kind'] extends 'flag'
  ? boolean
  : Option['kind'] extends 'list'
    ? readonly string[]
    : Option extends { readonly required: true }
      ? string
      : string | undefined;

/** The arguments that a body has for these options. An empty text is none. */
export const optionsIn = <Options extends CommandOptions>(options: Options, input: Input) =>
  Object.fromEntries(Object.entries(options).map((entry) => [entry[0], valueIn(input, memberOf(entry), entry[1])])) as {
    readonly [Name in keyof Options]: ValueOf<Options[Name]>;
  };

function valueIn({ body }: Input, member: string, { kind, required }: CommandOption) {
  const value = body[member];
  if (kind === 'flag') return value === 'yes';
  const text = value === undefined || value === '' ? undefined : valueText(member, value);
  if (kind === 'list') return text === undefined ? [] : itemsOf(member, text);
  if (text === undefined && required)
    throw new Fault('missing-operation-data', `The body lacks the member "${member}".`);
  return text;
}

function itemsOf(member: string, text: string): readonly string[] {
  const items = text.split(',').flatMap((item) => item.trim() || []);
  if (items.length === 0) throw new Fault('invalid', `"${member}" is a list with nothing in it.`);
  return items;
}
