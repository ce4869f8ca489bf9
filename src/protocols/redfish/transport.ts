/**
 * What a service may speak: TLS 1.2 or newer; TLS 1.0 and 1.1 too, with keys and signatures that are too weak today; or HTTP, which
 * shows account and commands to everybody on the way. The latter two only where somebody has said so of that service.
 */
export const transports = ['tls', 'oldtls', 'http'] as const;
export type Transport = (typeof transports)[number];

export const isTransport = (text: string): text is Transport => (transports as readonly string[]).includes(text);

export const portOf = ({
  port,
  transport,
}: {
  readonly port?: number | undefined;
  readonly transport?: Transport | undefined;
}): number => port ?? (transport === 'http' ? 80 : 443);
