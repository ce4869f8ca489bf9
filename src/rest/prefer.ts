/** Whether the client would rather hear of the run at once than wait for its end (RFC 7240). */
export const prefersAsync = (header: string | string[] | undefined): boolean =>
  [header ?? []]
    .flat()
    .flatMap((line) => line.split(','))
    .some((preference) => preference.split(';', 1)[0]!.trim().toLowerCase() === 'respond-async');
