import { createPrivateKey } from 'node:crypto'
import { left, right } from 'fp-ts/lib/Either.js'
import { CloudCredentialRefused, type ServiceAccountReader } from '../../core/clouds/ports.ts'
import { secret } from '../../core/kernel/secret.ts'

const refuse = (message: string) => left(CloudCredentialRefused(message))
const least = 2048

const isUsableKey = (pem: string): boolean => {
  try {
    const key = createPrivateKey({ key: pem, format: 'pem' })
    return key.asymmetricKeyType === 'rsa' && (key.asymmetricKeyDetails?.modulusLength ?? 0) >= least
  } catch {
    return false
  }
}

const objectOf = (text: string): Readonly<Record<string, unknown>> | undefined => {
  try {
    const json: unknown = JSON.parse(text)
    return typeof json === 'object' && json !== null && !Array.isArray(json) ? (json as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** Reads key files of service accounts. Only the project, the address and the key are used; the endpoints in the file never are. */
export const serviceAccountReader: ServiceAccountReader = {
  read(text) {
    const file = objectOf(text.reveal())
    if (file === undefined) return refuse("The service account must be the JSON text of its key file.")
    const said = (name: string): string => (typeof file[name] === 'string' ? file[name] : '')
    if (said('type') !== 'service_account') return refuse('Only key files of type service_account are accepted: others fetch a credential elsewhere or run a program.')
    if (file['universe_domain'] !== undefined && file['universe_domain'] !== 'googleapis.com') return refuse('The universe_domain of the service account must be googleapis.com.')
    if (!/^[^\s@]{1,128}@[a-z0-9.-]{1,190}$/i.test(said('client_email'))) return refuse('The service account has no client_email.')
    if (!isUsableKey(said('private_key'))) return refuse(`The private_key of the service account cannot be read: it must be an RSA key of at least ${least} bits in PEM, without a passphrase.`)
    return right({
      projectId: said('project_id'),
      clientEmail: said('client_email'),
      privateKey: secret(said('private_key')),
      privateKeyId: said('private_key_id') === '' ? undefined : said('private_key_id'),
    })
  },
}
