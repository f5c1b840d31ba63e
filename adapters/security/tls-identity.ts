import { createPrivateKey, webcrypto, X509Certificate } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'

/** The certificate and key of the TLS listener. */
export interface TlsIdentity {
  readonly certificatePem: string
  readonly keyPem: string
  /** No authority signed the certificate, so clients must be given it to trust. */
  readonly isSelfSigned: boolean
}

const certificateFile = 'certificate.pem'
const keyFile = 'key.pem'
const dayMs = 86_400_000
/**
 * Clients hold the certificate itself, so a short lifetime would only break them. Renewal requires a new client-config.
 */
const lifeDays = 825
const renewBeforeDays = 30

const covers = (certificate: X509Certificate, host: string): boolean =>
  (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined

const isUsable = (certificatePem: string, hosts: readonly string[]): boolean => {
  const certificate = new X509Certificate(certificatePem)
  return (
    Date.parse(certificate.validTo) > Date.now() + renewBeforeDays * dayMs &&
    hosts.every((host) => covers(certificate, host))
  )
}

/** Creates a self-signed ECDSA P-256 certificate for these hosts (names or IP literals). */
const makeSelfSigned = async (hosts: readonly string[]): Promise<TlsIdentity> => {
  // Loaded only when a certificate is created: loading takes longer than the rest of the startup.
  const x509 = await import('@peculiar/x509')
  x509.cryptoProvider.set(webcrypto)
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=Moorage',
    keys,
    signingAlgorithm: algorithm,
    notBefore: new Date(Date.now() - 3_600_000),
    notAfter: new Date(Date.now() + lifeDays * dayMs),
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature | x509.KeyUsageFlags.keyCertSign, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(
        hosts.map((host) => ({ type: isIP(host) === 0 ? 'dns' : 'ip', value: host })),
      ),
    ],
  })
  const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)
  return {
    certificatePem: certificate.toString('pem'),
    keyPem: x509.PemConverter.encode(pkcs8, 'PRIVATE KEY'),
    isSelfSigned: true,
  }
}

const writeWhole = (path: string, text: string, mode: number): void => {
  writeFileSync(`${path}.new`, text, { mode })
  renameSync(`${path}.new`, path)
}

/**
 * Opens the self-signed identity in a folder. It is created on the first start, and again when it nears its expiry or a
 * host is new. `hosts` are the names and addresses by which clients reach the listener.
 */
export const openSelfSignedIdentity = async (folder: string, hosts: readonly string[]): Promise<TlsIdentity> => {
  const certificatePath = join(folder, certificateFile)
  const keyPath = join(folder, keyFile)
  if (existsSync(certificatePath) && existsSync(keyPath)) {
    const certificatePem = readFileSync(certificatePath, 'utf8')
    if (isUsable(certificatePem, hosts))
      return { certificatePem, keyPem: readFileSync(keyPath, 'utf8'), isSelfSigned: true }
  }
  const made = await makeSelfSigned(hosts)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeWhole(keyPath, made.keyPem, 0o600)
  writeWhole(certificatePath, made.certificatePem, 0o644)
  return made
}

/**
 * Reads an operator's own certificate (chain) and key. Throws an error in plain words if a file cannot be read or the
 * two do not match.
 */
export const readTlsIdentity = (certificatePath: string, keyPath: string): TlsIdentity => {
  const certificatePem = readPem('MOORAGE_TLS_CERTIFICATE', certificatePath)
  const keyPem = readPem('MOORAGE_TLS_KEY', keyPath)
  const certificate = parsed(
    () => new X509Certificate(certificatePem),
    `MOORAGE_TLS_CERTIFICATE: ${certificatePath} is not a certificate in PEM.`,
  )
  const key = parsed(
    () => createPrivateKey(keyPem),
    `MOORAGE_TLS_KEY: ${keyPath} is not a private key in PEM without a passphrase.`,
  )
  if (!certificate.checkPrivateKey(key))
    throw new Error(
      `The key in ${keyPath} (MOORAGE_TLS_KEY) is not the one of the certificate in ${certificatePath} ` +
        '(MOORAGE_TLS_CERTIFICATE).',
    )
  return { certificatePem, keyPem, isSelfSigned: false }
}

/** The time within which a certificate is valid. A chain counts by its first certificate. */
export interface Validity {
  readonly from: Date
  readonly until: Date
}

export const validityOf = ({ certificatePem }: Pick<TlsIdentity, 'certificatePem'>): Validity => {
  const { validFrom, validTo } = new X509Certificate(certificatePem)
  return { from: new Date(validFrom), until: new Date(validTo) }
}

const isValid = (identity: TlsIdentity): boolean => {
  const { from, until } = validityOf(identity)
  return from.getTime() <= Date.now() && Date.now() < until.getTime()
}

/** The full days for which a certificate is still valid; negative if it has ended. */
export const daysLeft = (identity: Pick<TlsIdentity, 'certificatePem'>): number =>
  Math.floor((validityOf(identity).until.getTime() - Date.now()) / dayMs)

/** Reports whether a certificate must be renewed soon. @internal */
export const nearsExpiry = (identity: Pick<TlsIdentity, 'certificatePem'>): boolean =>
  daysLeft(identity) < renewBeforeDays

/** Returns a sentence about the end of a certificate, or undefined while it is far. */
export const expiryTold = (identity: Pick<TlsIdentity, 'certificatePem'>): string | undefined => {
  if (!nearsExpiry(identity)) return undefined
  const { until } = validityOf(identity)
  const days = daysLeft(identity)
  return days < 0 ? `it ended at ${until.toISOString()}` : `it ends at ${until.toISOString()}, in ${days} days`
}

/** Calls `warn` at once and daily while the certificate in use is near its end. Returns a function that stops. */
export const watchExpiry = (
  current: () => TlsIdentity,
  warn: (told: string) => void,
  everyMs = dayMs,
): (() => void) => {
  const look = (): void => {
    const told = expiryTold(current())
    if (told !== undefined) warn(told)
  }
  look()
  const timer = setInterval(look, everyMs)
  timer.unref()
  return () => clearInterval(timer)
}

export interface TlsWatchDeps {
  readonly certificatePath: string
  readonly keyPath: string
  /** The identity in use. */
  readonly current: TlsIdentity
  readonly replace: (identity: TlsIdentity) => void
  /** Called once for each content of the files that cannot be used, with the reason. The identity in use is kept. */
  readonly refuse: (reason: string) => void
  readonly everyMs?: number
}

const lookMs = 30_000

/**
 * Reads an operator's own certificate and key repeatedly, since they are renewed while the service runs. Of two files
 * that are replaced one after the other, the pair counts when both match. Returns a function that stops.
 */
export const watchTlsIdentity = ({
  certificatePath,
  keyPath,
  current,
  replace,
  refuse,
  everyMs = lookMs,
}: TlsWatchDeps): (() => void) => {
  let used = current
  let refused: string | undefined
  const look = (): void => {
    try {
      const found = readTlsIdentity(certificatePath, keyPath)
      if (found.certificatePem === used.certificatePem && found.keyPem === used.keyPem)
        return void (refused = undefined)
      if (!isValid(found) && isValid(used)) throw new Error(notValid(certificatePath, validityOf(found)))
      refused = undefined
      replace(found)
      used = found
    } catch (error) {
      const reason = (error as Error).message
      if (reason !== refused) refuse(reason)
      refused = reason
    }
  }
  const timer = setInterval(look, everyMs)
  timer.unref()
  return () => clearInterval(timer)
}

const notValid = (path: string, { from, until }: Validity): string =>
  `The certificate in ${path} is valid from ${from.toISOString()} until ${until.toISOString()}, which is not now.`

const parsed = <A>(parse: () => A, problem: string): A => {
  try {
    return parse()
  } catch (cause) {
    throw new Error(problem, { cause })
  }
}

const readPem = (setting: string, path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new Error(`${setting}: ${path} cannot be read (${(cause as NodeJS.ErrnoException).code ?? 'unknown'}).`)
  }
}
