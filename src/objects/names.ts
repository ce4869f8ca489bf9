import { Fault } from '../core/errors.ts';
import { groupName, longestNodeName, nodeName } from '../core/object-names.ts';
import { checkText } from '../database/checks.ts';
import { expandSyntactic } from '../noderange/index.ts';
import type { ObjectType } from './types.ts';

const maximumName = 255;

/** What the reference system says of a name that no object can have. */
export const invalidName = (name: string): string =>
  `The object name '${name}' is invalid, please refer to "man xcatdb" for the valid "xCAT Object Name Format"`;

const inReference = (name: string) => ({ reference: [invalidName(name)] });

export function checkObjectName(type: ObjectType, name: string): void {
  if (name === 'ALLRESOURCES')
    throw new Fault('invalid', '"ALLRESOURCES" stands for all objects and cannot be the name of one.');
  if (name === '__proto__') throw new Fault('invalid', '"__proto__" cannot be the name of an object.');
  if (type.name === 'node') checkNodeName(name);
  else if (type.name === 'group') checkGroupName(name);
  else checkOtherName(type, name);
}

function checkNodeName(name: string): void {
  if (name.includes('.'))
    throw new Fault('invalid', `"${name}" is not a node name: a node name has no ".".`, {
      reference: [`The object name '${name}' is invalid, Cannot use '.' in node name.`],
    });
  if (!nodeName.test(name)) {
    throw new Fault(
      'invalid',
      `"${name}" is not a node name: use letters, digits, "-" and "_", and do not begin with "-".`,
      inReference(name),
    );
  }
  if (name.length > longestNodeName) {
    throw new Fault(
      'invalid',
      `"${name.slice(0, 20)}..." is not a node name: it is longer than ${longestNodeName} characters.`,
      inReference(name),
    );
  }
}

/** A group name must mean itself when it is read as a node range. */
export function checkGroupName(name: string): void {
  const itself = groupName.test(name) && name.length <= maximumName && expandSyntactic(name).join() === name;
  if (!itself) {
    throw new Fault(
      'invalid',
      `"${name}" is not a group name: use letters, digits, "-", "_" and ".", and nothing that reads as a range.`,
      inReference(name),
    );
  }
}

function checkOtherName(type: ObjectType, name: string): void {
  checkText(name, `The ${type.name} name`);
  if (name.trim() !== name || name === '' || name.length > maximumName) {
    throw new Fault(
      'invalid',
      `"${name}" is not a name for a ${type.name}: give 1 to ${maximumName} characters without blanks around.`,
      inReference(name),
    );
  }
}
