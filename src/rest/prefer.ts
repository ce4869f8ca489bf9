/** Whether the client sent this preference (RFC 7240), such as `respond-async` or `handling=lenient`. */
export const prefers = (header: string | string[] | undefined, preference: string): boolean =>
  header !== undefined &&
  [header]
    .flat()
    .flatMap((line) => line.split(','))
    .some((each) => each.split(';', 1)[0]!.replaceAll(/[\s"]/g, '').toLowerCase() === preference);

/** Would rather hear of the run at once than wait for its end. */
export const respondAsync = 'respond-async';
/** Takes what went well together with what did not. */
export const lenient = 'handling=lenient';
/** Programs that tell errors in words of their own: error bodies say the kind of error and the unknown names too. */
export const detailedErrors = 'errors=detailed';
