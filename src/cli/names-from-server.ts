import { groupName, isNodeName } from '../core/object-names.ts';
import { Garbled } from './client-errors.ts';
import { oneLine } from './control-characters.ts';

/** A name that a server sent and that is safe in a path, in a file of another program and on a command line. */
export type CheckedName = string & { readonly [checked]: true };
declare const checked: unique symbol;

const longestShown = 60;

/** muster has no other names. Whatever sends one is not muster, or not the server that was meant, so the command stops. */
function checker(what: string, isName: (name: string) => boolean): (name: string) => CheckedName {
  return (name) => {
    if (typeof name === 'string' && isName(name)) return name as CheckedName;
    const shown = oneLine(JSON.stringify(name)?.slice(0, longestShown) ?? 'nothing');
    throw new Garbled(
      `The server sent ${shown} as the name of a ${what}, and muster has no such names. Check which server answers: muster doctor`,
    );
  };
}

export const nodeFromServer = checker('node', isNodeName);
export const groupFromServer = checker('group', (name) => groupName.test(name));
export const tableFromServer = checker('table', (name) => /^[A-Za-z]\w*$/.test(name));
