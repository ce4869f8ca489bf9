/** What secrets are shown as. */
export const hidden = '********';
