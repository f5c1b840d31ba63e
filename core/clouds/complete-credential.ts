import { isLeft, left, right, type Either } from 'fp-ts/lib/Either.js'
import type { KubeconfigParser } from '../clusters/ports.ts'
import type { Failure } from '../kernel/failure.ts'
import { secret } from '../kernel/secret.ts'
import { credentialTypeNamed, fleetType } from './credential-types.ts'
import { CloudCredentialRefused, type ServiceAccountReader } from './ports.ts'
import type { SentCredential } from './read-credential.ts'
import type { CredentialSpec, FieldValue } from './types.ts'

type Refused = Failure<'CloudCredentialRefused'>

/** Secrets that were left open, from the credential that is replaced; of another type nothing is kept. */
const keptSecrets = (sent: SentCredential, before: CredentialSpec | undefined): Record<string, FieldValue> => {
  if (before?.type !== sent.type) return {}
  const fields = credentialTypeNamed(sent.type)?.fields ?? {}
  return Object.fromEntries(Object.entries(before.fields).filter(([name]) => fields[name]?.isSecret === true && !sent.removed.includes(name)))
}

/** The whole credential that a request leads to, its documents checked. Failures: CloudCredentialRefused, naming the field and nothing of its value. */
export const makeCompleteCredential = (deps: { readonly serviceAccounts: ServiceAccountReader; readonly kubeconfigs: KubeconfigParser }) => {
  const checkDocument = (kind: string, value: string): Either<Refused, unknown> => {
    if (kind === 'service-account') return deps.serviceAccounts.read(secret(value))
    if (kind !== 'kubeconfig') return right(undefined)
    const parsed = deps.kubeconfigs.parse(value)
    return isLeft(parsed) ? left(CloudCredentialRefused('kubevirt.kubeConfig is not accepted: it must be a kubeconfig with an https server and inline certificates, keys or tokens.')) : parsed
  }

  return (sent: SentCredential, before?: CredentialSpec): Either<Refused, CredentialSpec> => {
    const type = credentialTypeNamed(sent.type)
    if (type === undefined) throw new Error('the type was checked before')
    const fields = { ...keptSecrets(sent, before), ...sent.fields }
    for (const [name, field] of Object.entries(type.fields)) {
      const value = fields[name]
      if (value === undefined && field.isRequired) return left(CloudCredentialRefused(`${type.block}.${name} is missing.`))
      if (sent.fields[name] === undefined || typeof value !== 'string') continue
      const checked = checkDocument(field.kind, value)
      if (isLeft(checked)) return checked
    }
    return right({ type: sent.type, fields })
  }
}
export type CompleteCredential = ReturnType<typeof makeCompleteCredential>

/** The endpoint by which lists find a fleet manager's credentials; empty for other types. */
export const fleetEndpointOf = ({ type, fields }: CredentialSpec): string => (type === fleetType && typeof fields['endpoint'] === 'string' ? fields['endpoint'] : '')
