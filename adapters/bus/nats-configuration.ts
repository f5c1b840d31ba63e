/** The parts of a nats-server configuration that depend on the deployment. */
export interface NatsConfiguration {
  /** `host:port`. */
  readonly listen: string
  /** `host:port` of the websocket listener for browsers. */
  readonly websocket: string
  readonly storeFolder: string
  /** The origin of the pages that may open the websocket. It is checked because browsers send the cookie unasked. */
  readonly origin: string
  /** The cookie in which browsers send their pass. */
  readonly cookie: string
  readonly operatorClaims: string
  readonly systemAccount: string
  /** The initial claims of the system account and the platform account, by public key. */
  readonly accounts: Readonly<Record<string, string>>
}

const quoted = (text: string): string => JSON.stringify(text)

/**
 * Returns the configuration file of a nats-server. It holds no secret: claims are signed, not encrypted, and keys stay in
 * Moorage's database.
 */
export const natsConfiguration = ({ listen, websocket, storeFolder, origin, cookie, operatorClaims, systemAccount, accounts }: NatsConfiguration): string =>
  `# nats-server for Moorage, printed by: moorage bus init
# Nothing in it is secret. Start with: nats-server -c FILE
listen: ${quoted(listen)}

# Signed by Moorage: accounts are accepted when this operator has signed them.
operator: ${operatorClaims}
system_account: ${systemAccount}

# Account claims are kept here; Moorage hands them over while it runs. Put the folder on a disk that lasts.
resolver: {
  type: full
  dir: ${quoted(`${storeFolder}/accounts`)}
  allow_delete: false
  interval: "2m"
}
resolver_preload: {
${Object.entries(accounts).map(([key, claims]) => `  ${key}: ${claims}`).join('\n')}
}

jetstream: {
  store_dir: ${quoted(`${storeFolder}/jetstream`)}
}

# Browsers: put a TLS proxy before it (or a tls block instead of no_tls); it must be reached on the domain of Moorage, whose cookie it reads.
websocket: {
  listen: ${quoted(websocket)}
  no_tls: true
  allowed_origins: [${quoted(origin)}]
  jwt_cookie: ${quoted(cookie)}
}
`
