export interface Accepted {
  readonly json: boolean;
  readonly ndjson: boolean;
}

const everything: Accepted = { json: true, ndjson: false };

/** What an Accept header admits; NDJSON only if it is named and not ranked below JSON. */
export function acceptedTypes(header: string | undefined): Accepted {
  if (header === undefined || header === '' || header === '*/*') return everything;
  let json = 0;
  let ndjson = 0;
  for (const part of header.toLowerCase().split(',')) {
    const [type = '', ...parameters] = part.split(';').map((piece) => piece.trim());
    const weight = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1);
    const quality = Number.isFinite(weight) ? weight : 0;
    if (type === 'application/x-ndjson') ndjson = Math.max(ndjson, quality);
    if (type === 'application/json' || type === 'application/*' || type === '*/*') json = Math.max(json, quality);
  }
  return { json: json > 0, ndjson: ndjson > 0 && ndjson >= json };
}
