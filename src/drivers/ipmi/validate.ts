import { limits } from '../../protocols/ipmi/commands/users.ts';
import type { Access } from '../capabilities.ts';

/** What is wrong with a node's attributes, one sentence each; secrets are not repeated. */
export function validateAccess(access: Access): readonly string[] {
  const problems: string[] = [];
  if (access.address === '') problems.push('its attribute bmc, the address of its service processor, is not set.');
  if (access.username === '' || access.password === '') {
    const where = 'set bmcusername and bmcpassword, or a row of the table passwd with the key ipmi.';
    problems.push(`it has no user name or no password for its service processor: ${where}`);
  }
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
