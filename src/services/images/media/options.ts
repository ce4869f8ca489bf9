/** What a request asks for besides the medium. */
export interface CopyOptions {
  readonly name?: string | undefined;
  readonly arch?: string | undefined;
  readonly path?: string | undefined;
  readonly inspect?: boolean | undefined;
  readonly noosimage?: boolean | undefined;
  readonly nonoverwrite?: boolean | undefined;
}

const flags = { name: '-n', arch: '-a', path: '-p', inspect: '-i', noosimage: '-o', nonoverwrite: '-w' } as const;

/** As the reference system writes them. */
export const optionWords = (options: CopyOptions): string[] =>
  (Object.keys(flags) as (keyof CopyOptions)[]).flatMap((option) => {
    const value = options[option];
    return value === undefined || value === false ? [] : value === true ? [flags[option]] : [flags[option], value];
  });
