/** What a request asks for besides the container. */
export interface PullOptions {
  readonly arch?: string | undefined;
  readonly osvers?: string | undefined;
  readonly profile?: string | undefined;
  readonly kernel?: string | undefined;
  readonly image?: string | undefined;
  readonly force?: boolean | undefined;
}

const texts = ['arch', 'osvers', 'profile', 'kernel', 'image'] as const;

/** For policies and the audit log. */
export const pullWords = (options: PullOptions): string[] => [
  ...texts.flatMap((key) => (options[key] === undefined ? [] : [`--${key}`, options[key]])),
  ...(options.force ? ['--force'] : []),
];

/** Whether a file is a container image, by its name: image.oci.tar, image.docker.tar, or a layout in the directory image.oci. */
export const isContainerFile = (path: string): boolean => /\.(oci|docker)(\.tar)?\/?$/.test(path);
