/** What people call a secret, whatever stands before it: bmcpw, userPW, MYSQL_PASSWORD, api-key, password2. A bypass is none. */
export const secretWords =
  /(?:(?<!by|com)pass|passw(?:or)?d|passwort|pass[-_]?(?:phrase|code)|pw|pwd|secret|community|token(?:id)?|credential|(?:auth|priv|private|api|access|shared|product|secret|encryption|signing)[-_]?key)s?[-_]?\d*$/i;
