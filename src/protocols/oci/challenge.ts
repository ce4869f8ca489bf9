/** What a 401 asks for. */
export interface Challenge {
  readonly scheme: 'basic' | 'bearer';
  readonly parameters: ReadonlyMap<string, string>;
}

const longest = 8_192;

/** Reads WWW-Authenticate headers; of several schemes, tokens are preferred. Undefined: none that we know. */
export function parseChallenge(header: string | string[] | undefined): Challenge | undefined {
  const found = [header ?? []].flat().flatMap((each) => (each.length > longest ? [] : challengesIn(each)));
  return found.find(({ scheme }) => scheme === 'bearer') ?? found.find(({ scheme }) => scheme === 'basic');
}

const word = /[A-Za-z0-9!#$%&'*+.^_`|~-]+/y;
const assigned = /\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/y;

function challengesIn(header: string): Challenge[] {
  const found: { scheme: string; parameters: Map<string, string> }[] = [];
  let at = 0;
  while (at < header.length) {
    word.lastIndex = at;
    const name = word.exec(header)?.[0];
    if (name === undefined) {
      at++;
      continue;
    }
    at += name.length;
    assigned.lastIndex = at;
    const value = assigned.exec(header);
    if (!value) found.push({ scheme: name.toLowerCase(), parameters: new Map() });
    else {
      at += value[0].length;
      found.at(-1)?.parameters.set(name.toLowerCase(), value[1]?.replace(/\\(.)/g, '$1') ?? value[2] ?? '');
    }
  }
  return found.filter((each): each is Challenge & typeof each => each.scheme === 'basic' || each.scheme === 'bearer');
}
