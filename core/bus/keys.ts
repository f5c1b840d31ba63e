import { isLeft, right } from 'fp-ts/lib/Either.js'
import { defineAudit } from '../kernel/unit-of-work.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Entropy, SealedPlace, SecretBox } from '../kernel/secret.ts'
import { hex } from '../kernel/secret.ts'
import type { Failure } from '../kernel/failure.ts'
import type { AccountId } from '../kernel/ids.ts'
import type { Call } from '../kernel/principal.ts'
import type { UnitOfWork } from '../kernel/unit-of-work.ts'
import type { BusIdentityStore, BusKey, BusMint, BusStores, SystemLogin } from './ports.ts'
import { claimsFor } from './rights.ts'
import type { BusIdentity, BusIdentityKind, BusRights, NewBusIdentity, SentSubject } from './types.ts'

/** The bus of the deployment has no id and no owner. */
const auditOf = defineAudit('bus', ['bus.initialized'], () => ({}))

/** Seals and opens the seeds of the bus's keys, each bound to its own row. */
export interface SealedKeys {
  seal(kind: BusIdentityKind, ownerId: AccountId | undefined, key: BusKey): Promise<NewBusIdentity>
  open(identity: BusIdentity): Promise<BusKey>
}

const placeOf = (ownerId: AccountId | undefined, ref: string): SealedPlace => ({
  table: 'bus_identities',
  column: 'sealed_seed',
  tenantId: ownerId ?? 0,
  rowRef: ref,
})

export const makeSealedKeys = (box: SecretBox, entropy: Entropy): SealedKeys => ({
  seal: async (kind, ownerId, { publicKey, seed }) => {
    const ref = hex(entropy.bytes(16))
    return { kind, ownerId, publicKey, ref, sealedSeed: await box.seal(seed, placeOf(ownerId, ref)), claims: '' }
  },
  open: async ({ publicKey, sealedSeed, ownerId, ref }) => ({
    publicKey,
    seed: await box.open(sealedSeed, placeOf(ownerId, ref)),
  }),
})

/** The three keys of a deployment, with the claims that a server starts with. */
export interface BusKeys {
  readonly operator: BusIdentity
  readonly system: BusIdentity
  readonly platform: BusIdentity
}

export interface InitBusDeps {
  readonly identities: BusIdentityStore
  readonly unitOfWork: UnitOfWork<BusStores>
  readonly mint: BusMint
  readonly safe: SealedKeys
  readonly clock: Clock
  readonly sent: readonly SentSubject[]
}

/** Returns the keys of this deployment; undefined if they were not created. */
export const readBusKeys = async (identities: BusIdentityStore): Promise<BusKeys | undefined> => {
  const [operator, system, platform] = await Promise.all([
    identities.find('operator'),
    identities.find('system'),
    identities.find('platform'),
  ])
  return operator === undefined || system === undefined || platform === undefined
    ? undefined
    : { operator, system, platform }
}

/** Creates the keys of the bus, once: repeated and concurrent calls return the same keys. */
export const makeInitBus =
  (deps: InitBusDeps) =>
  async (call: Call): Promise<BusKeys> => {
    const { identities, unitOfWork, clock } = deps
    const there = await readBusKeys(identities)
    if (there !== undefined) return there
    const fresh = await freshKeys(deps)
    const made = await unitOfWork.run<Failure<'BusIdentityTaken'>, void>(
      call,
      async ({ identities: within, audit }) => {
        for (const each of fresh) {
          const inserted = await within.insert(each, clock.now())
          if (isLeft(inserted)) return inserted
        }
        await audit.record(auditOf(undefined, 'bus.initialized', { keys: fresh.map(({ publicKey }) => publicKey) }))
        return right(undefined)
      },
    )
    const keys = await readBusKeys(identities)
    if (keys === undefined)
      throw new Error(isLeft(made) ? made.left.message : 'The keys of the bus were made and cannot be found.')
    return keys
  }

const freshKeys = async ({ mint, safe, sent }: InitBusDeps): Promise<readonly NewBusIdentity[]> => {
  const operator = mint.newKey('operator')
  const [system, platform] = [mint.newKey('system'), mint.newKey('platform')]
  const account = async (kind: 'system' | 'platform', key: typeof system): Promise<NewBusIdentity> => ({
    ...(await safe.seal(kind, undefined, key)),
    claims: await mint.accountClaims(operator, key.publicKey, platform.publicKey, {
      ...claimsFor({ kind, ownerId: undefined, closedAt: undefined }, sent),
      revocations: new Map(),
    }),
  })
  return [
    {
      ...(await safe.seal('operator', undefined, operator)),
      claims: await mint.operatorClaims(operator, system.publicKey),
    },
    await account('system', system),
    await account('platform', platform),
  ]
}

export interface SystemLoginDeps {
  readonly identities: Pick<BusIdentityStore, 'find'>
  readonly mint: BusMint
  readonly safe: SealedKeys
}

/** Returns a new login that exists only in this process; undefined while the deployment has no keys. */
export type MakeLogin = () => Promise<SystemLogin | undefined>

const loginOf =
  ({ identities, mint, safe }: SystemLoginDeps, kind: 'system' | 'platform', rights: BusRights): MakeLogin =>
  async () => {
    const account = await identities.find(kind)
    if (account === undefined) return undefined
    const user = mint.newKey('user')
    // The server closes a connection when its claims expire, and this one must stay open; its key exists only in this
    // process.
    const claims = await mint.userClaims(await safe.open(account), user.publicKey, {
      name: 'moorage',
      rights,
      expiresAt: undefined,
      isBearer: false,
    })
    return { claims, seed: user.seed }
  }

/** A login to the system account, to push the claims of accounts. */
export const makeSystemLogin = (deps: SystemLoginDeps): MakeLogin =>
  loginOf(deps, 'system', { publish: ['$SYS.REQ.>'], subscribe: ['_INBOX.>'] })

/** A login to the platform's account, with the rights that a part needs there. */
export const makePlatformLogin = (deps: SystemLoginDeps, rights: BusRights): MakeLogin =>
  loginOf(deps, 'platform', rights)
