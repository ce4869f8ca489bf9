import { checkHostAddress } from '../../core/host-address.ts';
import { limits } from '../../protocols/ipmi/commands/users.ts';
import { type BmcAccess, missingAccount, unsetAddress } from '../bmc/target.ts';

/** What is wrong with a node's attributes, one sentence each; secrets are not repeated. */
export function validateAccess(access: BmcAccess): readonly string[] {
  const problems: string[] = [];
  if (access.address === '') problems.push(unsetAddress);
  else {
    const mistyped = checkHostAddress(access.address);
    if (mistyped) problems.push(`its attribute bmc is wrong: ${mistyped.message}`);
  }
  const missing = missingAccount(access, 'ipmi');
  if (missing !== undefined) problems.push(missing);
  if (Buffer.byteLength(access.username) > limits.name) {
    problems.push(`the user name for IPMI may have at most ${limits.name} bytes.`);
  }
  if (Buffer.byteLength(access.password) > limits.password) {
    problems.push(`the password for IPMI may have at most ${limits.password} bytes.`);
  }
  const { port } = access;
  if (port !== undefined && !(Number.isInteger(port) && port >= 1 && port <= 65_535)) {
    problems.push(`the port ${port} of its service processor is not between 1 and 65535.`);
  }
  return problems;
}
