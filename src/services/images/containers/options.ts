import { Fault } from '../../../core/errors.ts';

/** What `params` of a request ask for. */
export interface PullOptions {
  readonly arch?: string | undefined;
  readonly osvers?: string | undefined;
  readonly profile?: string | undefined;
  readonly kernel?: string | undefined;
  readonly image?: string | undefined;
  readonly force?: boolean | undefined;
}

const texts = ['arch', 'osvers', 'profile', 'kernel', 'image'] as const;

export function readPullOptions(params: readonly Readonly<Record<string, unknown>>[]): PullOptions {
  const options: Record<string, string | boolean> = {};
  for (const [key, value] of params.flatMap((each) => Object.entries(each))) {
    const isText = texts.some((each) => each === key);
    if (!isText && key !== 'force')
      throw new Fault(
        'invalid',
        `params: ${JSON.stringify(key.slice(0, 100))} is not known for containers; known are ${texts.join(', ')} and force.`,
      );
    if (isText && (typeof value !== 'string' || value === ''))
      throw new Fault('invalid', `params: ${key} needs a value, a text.`);
    options[key] = isText ? (value as string) : value !== false && value !== '0' && value !== 0 && value !== 'no';
  }
  return options;
}

/** For policies and the audit log. */
export const pullWords = (options: PullOptions): string[] => [
  ...texts.flatMap((key) => (options[key] === undefined ? [] : [`--${key}`, options[key]])),
  ...(options.force ? ['--force'] : []),
];

/** Whether a file is a container image, by its name: image.oci.tar, image.docker.tar, or a layout in the directory image.oci. */
export const isContainerFile = (path: string): boolean => /\.(oci|docker)(\.tar)?\/?$/.test(path);
