/** Names of nodes and groups: none of them means anything to a shell, in a path or in a file of another program. */
export const nodeName = /^[A-Za-z0-9_][A-Za-z0-9_-]*$/;
export const longestNodeName = 63;
export const groupName = /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/;

export const isNodeName = (name: string): boolean => nodeName.test(name) && name.length <= longestNodeName;
