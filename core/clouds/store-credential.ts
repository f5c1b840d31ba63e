import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../kernel/clock.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { FreeObject } from '../kernel/json.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { fleetEndpointOf, type CompleteCredential } from './complete-credential.ts'
import type { CredentialSafe } from './credential-safe.ts'
import { CredentialChanged, CredentialMissing, CloudCredentialRefused, type CloudCredentialStore, type CloudUnitOfWork } from './ports.ts'
import { readCredential, type SentCredential } from './read-credential.ts'
import type { CredentialContent, CredentialSpec } from './types.ts'

/** Credentials that one person can have. */
const most = 200

interface Deps {
  readonly credentials: Pick<CloudCredentialStore, 'find'>
  readonly complete: CompleteCredential
  readonly safe: CredentialSafe
  readonly clock: Clock
  readonly unitOfWork: CloudUnitOfWork
}

const seal = async (deps: Deps, call: SignedInCall, sent: SentCredential, spec: CredentialSpec): Promise<CredentialContent> => ({
  type: spec.type,
  ownerId: sent.ownerId,
  fleetEndpoint: fleetEndpointOf(spec),
  ...(await deps.safe.seal(call.principal.userId, spec)),
})

/** Stores a new credential of the caller, sealed. */
export const makeCreateCredential = (deps: Deps) =>
  async (call: SignedInCall, body: FreeObject): Outcome<Failure<'CloudCredentialRefused'> | Failure<'CredentialNameTaken'>, void> => {
    const { userId } = call.principal
    const sent = readCredential(body, userId)
    if (isLeft(sent)) return sent
    const spec = deps.complete(sent.right)
    if (isLeft(spec)) return spec
    const content = await seal(deps, call, sent.right, spec.right)
    return deps.unitOfWork.run<Failure<'CloudCredentialRefused'> | Failure<'CredentialNameTaken'>, void>(call, async (stores) => {
      if ((await stores.credentials.lockCount(userId)) >= most) return left(CloudCredentialRefused(`You have ${most} credentials already; delete some first.`))
      const inserted = await stores.credentials.insert(userId, sent.right.name, content, deps.clock.now())
      if (isLeft(inserted)) return inserted
      const { name, type } = sent.right
      await stores.audit.record({ action: 'cloud_credential.created', objectType: 'cloud_credential', objectId: inserted.right, objectName: name, tenantId: userId, changes: { type } })
      return right(undefined)
    })
  }

const changedFieldsOf = (before: CredentialSpec, after: CredentialSpec): readonly string[] =>
  Object.keys({ ...before.fields, ...after.fields }).filter((name) => JSON.stringify(before.fields[name]) !== JSON.stringify(after.fields[name]))

/** Replaces a credential of the caller, found by the name in the body. Secrets that were left open stay while the type does. */
export const makeReplaceCredential = (deps: Deps) =>
  async (call: SignedInCall, body: FreeObject): Outcome<Failure<'CloudCredentialRefused'> | Failure<'CredentialMissing'> | Failure<'CredentialChanged'>, void> => {
    const { userId } = call.principal
    const sent = readCredential(body, userId)
    if (isLeft(sent)) return sent
    const stored = await deps.credentials.find(userId, sent.right.name)
    if (stored === undefined) return left(CredentialMissing('You have no credential of that name.'))
    const before = await deps.safe.open(stored)
    const spec = deps.complete(sent.right, before)
    if (isLeft(spec)) return spec
    const fields = changedFieldsOf(before, spec.right)
    if (before.type === spec.right.type && stored.ownerId === sent.right.ownerId && fields.length === 0) return right(undefined)
    const content = await seal(deps, call, sent.right, spec.right)
    return deps.unitOfWork.run<Failure<'CredentialChanged'>, void>(call, async (stores) => {
      const isReplaced = await stores.credentials.replace(userId, stored.id, stored.version, content, deps.clock.now())
      if (!isReplaced) return left(CredentialChanged('The credential was changed by another request at the same moment. Nothing was changed; send it again.'))
      await stores.audit.record({
        action: 'cloud_credential.changed', objectType: 'cloud_credential', objectId: stored.id, objectName: stored.name, tenantId: userId,
        changes: { type: spec.right.type, fields: before.type === spec.right.type ? fields : Object.keys(spec.right.fields) },
      })
      return right(undefined)
    })
  }

/** Deletes a credential of the caller. */
export const makeDeleteCredential = (deps: Pick<Deps, 'unitOfWork'>) =>
  async (call: SignedInCall, name: string): Outcome<Failure<'CredentialMissing'>, void> =>
    deps.unitOfWork.run<Failure<'CredentialMissing'>, void>(call, async (stores) => {
      const { userId } = call.principal
      const id = await stores.credentials.remove(userId, name)
      if (id === undefined) return left(CredentialMissing('You have no credential of that name.'))
      await stores.audit.record({ action: 'cloud_credential.deleted', objectType: 'cloud_credential', objectId: id, objectName: name, tenantId: userId })
      return right(undefined)
    })
