import { type TArray, type TBoolean, type TOptional, type TString, Type } from 'typebox';
import { type CommandOption, type CommandOptions, writtenOption } from '../core/command-options.ts';
import { withoutSecrets } from '../objects/secret-names.ts';

type SchemaOf<Option extends CommandOption> = Option['kind'] extends 'flag'
  ? TOptional<TBoolean>
  : Option['kind'] extends 'list'
    ? TArray<TString>
    : Option extends { readonly required: true }
      ? TString
      : TOptional<TString>;

type OptionArguments<Options extends CommandOptions> = { readonly [Name in keyof Options]: SchemaOf<Options[Name]> };

/** The arguments that a command's options are. */
export const optionArguments = <Options extends CommandOptions>(options: Options): OptionArguments<Options> =>
  Object.fromEntries(
    Object.entries(options).map(([name, option]) => [name, schemaOf(option)]),
  ) as OptionArguments<Options>;

function schemaOf({ kind, required, help: description }: CommandOption) {
  if (kind === 'flag') return Type.Optional(Type.Boolean({ description }));
  if (kind === 'list') return Type.Array(Type.String(), { description });
  return required ? Type.String({ description }) : Type.Optional(Type.String({ description }));
}

/** The argument line of a command whose options are all it has. */
export const optionLine =
  (options: CommandOptions) =>
  (given: Readonly<Record<string, unknown>>): readonly string[] =>
    Object.entries(options).flatMap(([name, option]) => {
      const value = given[name] as boolean | string | readonly string[] | undefined;
      const written = writtenOption(option) ?? [];
      if (value === undefined || value === false || (Array.isArray(value) && value.length === 0)) return [];
      return value === true ? written : [written, withoutSecrets([value].flat().join(','))].flat();
    });
