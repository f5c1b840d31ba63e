import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { KubeconfigParser } from '../clusters/ports.ts'
import { defineAudit } from '../kernel/unit-of-work.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Entropy, SealedPlace, SecretBox } from '../kernel/secret.ts'
import { hex, secret } from '../kernel/secret.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { UserId } from '../kernel/ids.ts'
import type { FreeObject } from '../kernel/json.ts'
import type { Page, PageRequest } from '../kernel/page.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import type { SentCredential } from './credential-form.ts'
import { credentialTypeNamed, fleetType, httpsUrl, readCredential, toCredentialForm } from './credential-form.ts'
import type { CloudCredentialStore, CloudUnitOfWork, ServiceAccountReader } from './ports.ts'
import { CloudCredentialRefused, CredentialChanged, CredentialMissing } from './ports.ts'
import type { CredentialContent, CredentialForm, CredentialSpec, FieldValue, StoredCredential } from './types.ts'
import { toWireJson } from '../kernel/json.ts'

const auditOf = defineAudit(
  'cloud_credential',
  ['cloud_credential.created', 'cloud_credential.changed', 'cloud_credential.deleted'],
  ({ id, name, userId }: Pick<StoredCredential, 'id' | 'name' | 'userId'>) => ({
    objectId: id,
    objectName: name,
    tenantId: userId,
  }),
)

const placeOf = (userId: UserId, ref: string): SealedPlace => ({
  table: 'cloud_credentials',
  column: 'sealed_spec',
  tenantId: userId,
  rowRef: ref,
})

/** Seals whole specs: no field of a block is stored outside its box. */
export interface SealedCredentials {
  /** Seals under a new reference, so that an older box cannot replace it. */
  seal(userId: UserId, spec: CredentialSpec): Promise<{ readonly ref: string; readonly box: Uint8Array }>
  /** Throws when the box was tampered with or moved. */
  open(stored: Pick<StoredCredential, 'userId' | 'ref' | 'box'>): Promise<CredentialSpec>
}

export const makeSealedCredentials = (deps: {
  readonly secretBox: SecretBox
  readonly entropy: Entropy
}): SealedCredentials => ({
  async seal(userId, spec) {
    const ref = hex(deps.entropy.bytes(16))
    return { ref, box: await deps.secretBox.seal(secret(toWireJson(spec)), placeOf(userId, ref)) }
  },
  async open({ userId, ref, box }) {
    const plain = await deps.secretBox.open(box, placeOf(userId, ref))
    return JSON.parse(plain.reveal()) as CredentialSpec
  },
})

type Refused = Failure<'CloudCredentialRefused'>

/** Returns the secrets to keep from the replaced credential; none if the type changes. */
const keptSecrets = (sent: SentCredential, before: CredentialSpec | undefined): Record<string, FieldValue> => {
  if (before?.type !== sent.type) return {}
  const fields = credentialTypeNamed(sent.type)?.fields ?? {}
  return Object.fromEntries(
    Object.entries(before.fields).filter(([name]) => fields[name]?.isSecret === true && !sent.removed.includes(name)),
  )
}

/**
 * Returns the complete credential that a request results in, with its documents checked. Failures:
 * CloudCredentialRefused, which names the field but not its value.
 */
export const makeCompleteCredential = (deps: {
  readonly serviceAccounts: ServiceAccountReader
  readonly kubeconfigs: KubeconfigParser
}) => {
  const checkDocument = (kind: string, value: string): Either<Refused, unknown> => {
    if (kind === 'service-account') return deps.serviceAccounts.read(secret(value))
    if (kind !== 'kubeconfig') return right(undefined)
    const parsed = deps.kubeconfigs.parse(value)
    return isLeft(parsed)
      ? left(
          CloudCredentialRefused(
            'kubevirt.kubeConfig is not accepted: it must be a kubeconfig with an https server and inline ' +
              'certificates, keys or tokens.',
          ),
        )
      : parsed
  }

  return (sent: SentCredential, before?: CredentialSpec): Either<Refused, CredentialSpec> => {
    const type = credentialTypeNamed(sent.type)
    if (type === undefined) throw new Error('the type was checked before')
    const fields = { ...keptSecrets(sent, before), ...sent.fields }
    for (const [name, field] of Object.entries(type.fields)) {
      const value = fields[name]
      if (value === undefined && field.isRequired)
        return left(CloudCredentialRefused(`${type.block}.${name} is missing.`))
      if (sent.fields[name] === undefined || typeof value !== 'string') continue
      const checked = checkDocument(field.kind, value)
      if (isLeft(checked)) return checked
    }
    return right({ type: sent.type, fields })
  }
}
export type CompleteCredential = ReturnType<typeof makeCompleteCredential>

/** Returns the endpoint by which lists find a fleet manager's credentials; empty for other types. */
const fleetEndpointOf = ({ type, fields }: CredentialSpec): string =>
  type === fleetType && typeof fields['endpoint'] === 'string' ? fields['endpoint'] : ''

interface ReadDeps {
  readonly credentials: Pick<CloudCredentialStore, 'find' | 'list'>
  readonly safe: SealedCredentials
}

export interface ListCredentialsInput {
  /** Only these types; an empty list means every type. */
  readonly types: readonly string[]
  readonly fleetEndpoint: string | undefined
  readonly page: PageRequest
}

/** Lists the caller's credentials by name, without their secrets. */
export const makeListCredentials =
  (deps: ReadDeps) =>
  async (call: SignedInCall, { page, ...wanted }: ListCredentialsInput): Outcome<never, Page<CredentialForm>> => {
    const types = wanted.types.filter((type) => type !== '')
    const endpoint = wanted.fleetEndpoint === '' ? undefined : wanted.fleetEndpoint
    const filter = {
      types: types.length === 0 ? undefined : types,
      fleetEndpoint: endpoint === undefined ? undefined : (httpsUrl(endpoint) ?? endpoint),
    }
    const found = await deps.credentials.list(call.principal.userId, filter, page)
    return right({
      ...found,
      items: await Promise.all(
        found.items.map(async (stored) => toCredentialForm(stored, await deps.safe.open(stored))),
      ),
    })
  }

/** Returns one credential of the caller, without its secrets. */
export const makeShowCredential =
  (deps: ReadDeps) =>
  async (call: SignedInCall, name: string): Outcome<Failure<'CredentialMissing'>, CredentialForm> => {
    const stored = await deps.credentials.find(call.principal.userId, name)
    return stored === undefined
      ? left(CredentialMissing('The credential does not exist.'))
      : right(toCredentialForm(stored, await deps.safe.open(stored)))
  }

/** Maximum number of credentials of one person. */
const most = 200

interface ChangeDeps {
  readonly credentials: Pick<CloudCredentialStore, 'find'>
  readonly complete: CompleteCredential
  readonly safe: SealedCredentials
  readonly clock: Clock
  readonly unitOfWork: CloudUnitOfWork
}

const seal = async (
  deps: ChangeDeps,
  call: SignedInCall,
  sent: SentCredential,
  spec: CredentialSpec,
): Promise<CredentialContent> => ({
  type: spec.type,
  ownerId: sent.ownerId,
  fleetEndpoint: fleetEndpointOf(spec),
  ...(await deps.safe.seal(call.principal.userId, spec)),
})

/** Stores a new sealed credential of the caller. */
export const makeCreateCredential =
  (deps: ChangeDeps) =>
  async (
    call: SignedInCall,
    body: FreeObject,
  ): Outcome<Failure<'CloudCredentialRefused'> | Failure<'CredentialNameTaken'>, void> => {
    const { userId } = call.principal
    const sent = readCredential(body, userId)
    if (isLeft(sent)) return sent
    const spec = deps.complete(sent.right)
    if (isLeft(spec)) return spec
    const content = await seal(deps, call, sent.right, spec.right)
    return deps.unitOfWork.run<Failure<'CloudCredentialRefused'> | Failure<'CredentialNameTaken'>, void>(
      call,
      async (stores) => {
        if ((await stores.credentials.lockCount(userId)) >= most)
          return left(CloudCredentialRefused(`You have ${most} credentials already; delete some first.`))
        const inserted = await stores.credentials.insert(userId, sent.right.name, content, deps.clock.now())
        if (isLeft(inserted)) return inserted
        const { name, type } = sent.right
        await stores.audit.record(auditOf({ id: inserted.right, name, userId }, 'cloud_credential.created', { type }))
        return right(undefined)
      },
    )
  }

const changedFieldsOf = (before: CredentialSpec, after: CredentialSpec): readonly string[] =>
  Object.keys({ ...before.fields, ...after.fields }).filter(
    (name) => toWireJson(before.fields[name]) !== toWireJson(after.fields[name]),
  )

/**
 * Replaces a credential of the caller, found by the name in the body. Omitted secrets are kept if the type does not
 * change.
 */
export const makeReplaceCredential =
  (deps: ChangeDeps) =>
  async (
    call: SignedInCall,
    body: FreeObject,
  ): Outcome<Failure<'CloudCredentialRefused'> | Failure<'CredentialMissing'> | Failure<'CredentialChanged'>, void> => {
    const { userId } = call.principal
    const sent = readCredential(body, userId)
    if (isLeft(sent)) return sent
    const stored = await deps.credentials.find(userId, sent.right.name)
    if (stored === undefined) return left(CredentialMissing('The credential does not exist.'))
    const before = await deps.safe.open(stored)
    const spec = deps.complete(sent.right, before)
    if (isLeft(spec)) return spec
    const fields = changedFieldsOf(before, spec.right)
    if (before.type === spec.right.type && stored.ownerId === sent.right.ownerId && fields.length === 0)
      return right(undefined)
    const content = await seal(deps, call, sent.right, spec.right)
    return deps.unitOfWork.run<Failure<'CredentialChanged'>, void>(call, async (stores) => {
      const isReplaced = await stores.credentials.replace(userId, stored.id, stored.version, content, deps.clock.now())
      if (!isReplaced)
        return left(
          CredentialChanged(
            'The credential was changed by another request at the same moment. Nothing was changed; send it again.',
          ),
        )
      const shown = before.type === spec.right.type ? fields : Object.keys(spec.right.fields)
      await stores.audit.record(auditOf(stored, 'cloud_credential.changed', { type: spec.right.type, fields: shown }))
      return right(undefined)
    })
  }

export const makeDeleteCredential =
  (deps: Pick<ChangeDeps, 'unitOfWork'>) =>
  async (call: SignedInCall, name: string): Outcome<Failure<'CredentialMissing'>, void> =>
    deps.unitOfWork.run<Failure<'CredentialMissing'>, void>(call, async (stores) => {
      const { userId } = call.principal
      const id = await stores.credentials.remove(userId, name)
      if (id === undefined) return left(CredentialMissing('The credential does not exist.'))
      await stores.audit.record(auditOf({ id, name, userId }, 'cloud_credential.deleted'))
      return right(undefined)
    })
