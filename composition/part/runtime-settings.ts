import { deploymentTypes } from '../../core/kernel/deployment.ts'
import type { ValuesOf } from './setting.ts'
import { absentUnlessSet, withDefault } from './setting.ts'
import {
  addressRange,
  egressTarget,
  listOf,
  listenAddress,
  matching,
  origin,
  secretUrl,
  secretWords,
  wholeNumber,
  wordOf,
  words,
  yesNo,
} from './setting-type.ts'
import type { DatabaseOptions } from '../../adapters/sql/engine/database.ts'
import type { MysqlOptions } from '../../adapters/sql/engine/mysql-pool.ts'
import type { WaitingAccount } from '../../adapters/sql/engine/wait-queue.ts'
import { definedFields } from '../../core/kernel/json.ts'

/** The settings of the runtime: what the process needs whatever its parts are. */
export const runtimeSettings = {
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
  workers: withDefault(
    'MOORAGE_WORKERS',
    wholeNumber(1, 64),
    '1',
    'API processes of this instance. With more than one, another process watches over them and serves the ' +
      'operations listener.',
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
  databaseWaitSeconds: withDefault(
    'MOORAGE_DATABASE_WAIT_SECONDS',
    wholeNumber(0, 86_400),
    '300',
    'How long the start waits for a database that is away; 0 ends it at once.',
  ),
  accessMemory: withDefault(
    'MOORAGE_ACCESS_MEMORY',
    wordOf('on', 'off'),
    'on',
    'Whether callers and their rights are kept in memory as long as nothing has changed them. The answers are ' +
      'the same.',
  ),
  deploymentType: withDefault(
    'MOORAGE_DEPLOYMENT_TYPE',
    wordOf(...deploymentTypes),
    'SelfHosted',
    'What kind of installation this is; decides which plugins and routes exist.',
  ),
  billingEnabled: withDefault('MOORAGE_BILLING_ENABLED', yesNo, 'false', 'Registers the usage-report routes.'),
  runMode: withDefault(
    'MOORAGE_RUN_MODE',
    wordOf('production', 'development'),
    'production',
    'production or development.',
  ),
  migrate: withDefault(
    'MOORAGE_MIGRATE',
    yesNo,
    'true',
    'Whether `serve` brings the schema up to date before it listens.',
  ),
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
  otlpEndpoint: absentUnlessSet(
    'MOORAGE_OTLP_ENDPOINT',
    matching(/^https?:\/\/[^\s?#@]+$/, 'an http or https URL, as http://collector:4318'),
    'Receiver of traces by OTLP over HTTP, such as http://collector:4318; /v1/traces is added. Traces are off ' +
      'without it.',
    { fallbackText: 'no traces' },
  ),
  otlpHeaders: absentUnlessSet(
    'MOORAGE_OTLP_HEADERS',
    secretWords,
    'Headers of requests to the receiver of traces, as name=value, comma-separated, values percent-encoded.',
  ),
  tracePercent: withDefault(
    'MOORAGE_TRACE_PERCENT',
    wholeNumber(0, 100),
    '100',
    'Percentage of traces that are recorded. For a bounded number of traces the choice in the traceparent counts.',
  ),
  plugins: withDefault('MOORAGE_PLUGINS', listOf(words), '', "Module paths of a deployer's own plugins."),
} as const

/** The settings of the runtime, parsed and typed; paths are absolute, secrets are wrapped. */
export type RuntimeSettings = ValuesOf<typeof runtimeSettings>

/**
 * Returns the limits of connections to the database.
 * @param account the account of a caller, for the turns of those who wait.
 */
export const databaseOptionsOf = (
  { databaseTimeoutSeconds }: Pick<RuntimeSettings, 'databaseTimeoutSeconds'>,
  account?: WaitingAccount,
): DatabaseOptions => {
  const turns = definedFields({ account })
  return {
    sqlite: { writerWaitMilliseconds: databaseTimeoutSeconds * 1000, ...turns },
    mysql: { ...limitsWithin(databaseTimeoutSeconds), ...turns },
  }
}

/**
 * Returns the limits of a connection to MySQL or MariaDB. A statement gets nine tenths of the time; the rest is for
 * detecting that it ended.
 */
const limitsWithin = (seconds: number): MysqlOptions => ({
  connectTimeoutMilliseconds: seconds * 600,
  acquireTimeoutMilliseconds: seconds * 400,
  statementTimeoutMilliseconds: seconds * 900,
})
