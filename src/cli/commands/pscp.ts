import { copyCommand } from '../nodes/copy-command.ts';

export const command = copyCommand('pscp');
