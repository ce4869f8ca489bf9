/**
 * What people call a secret, whatever stands before it: bmcpw, userPW, MYSQL_PASSWORD, api-key, password2. A bypass is none. Words that
 * mean nothing else count anywhere: password_prod, apitokenvalue.
 */
export const secretWords =
  /(?:(?<!by|com)pass|pass[-_]?code|pw|pwd|secret|psk|jwt|token(?:id)?|credential|(?:auth|priv|api|access|shared|product|secret|encryption|signing|tls|ssl|hmac)[-_]?key)s?[-_]?\d*$|passw(?:or)?d|passwort|pass[-_]?phrase|api[-_]?token|community|private[-_]?key/i;
