import type { KeptAnswer, KeptAnswers } from '../../../core/authorization-server/ports.ts'
import type { AuthorizationFacts } from '../../../core/authz/ports.ts'
import type { LocatedObject } from '../../../core/authz/types.ts'
import type { CredentialStore, SessionGrant, TokenGrant } from '../../../core/identity/ports.ts'
import type { AccountState } from '../../../core/identity/types.ts'
import type { ObjectKey, ObjectLocator, ObjectTypeDefinition } from '../../../core/kernel/access.ts'
import type { Cache, Caches } from '../../../core/kernel/cache.ts'
import type { AccessMoment } from '../../../core/kernel/principal.ts'
import { portKey } from '../../../core/kernel/port-key.ts'
import type { ObjectRows } from '../kit/object-rows.ts'
import { accessTables, everyoneShard, followersShard, shardOf } from '../tables/access.ts'

/** A value with the shards that it depends on, and a moment at which it was true. */
interface Kept<A> {
  readonly value: A
  readonly shards: readonly number[]
  readonly size: number
  moment: AccessMoment
}

/** What is remembered of one kind, within a bound of bytes. */
interface Remembered<A> {
  /** Returns the value if nothing that decides it has changed since it was read. */
  recall(key: string, moment: AccessMoment): A | undefined
  keep(key: string, moment: AccessMoment, value: A, about: Pick<Kept<A>, 'shards' | 'size'>): void
}

/** The memory of what was proven about callers and objects. */
export interface AccessMemory {
  /** Returns a moment after the call; undefined if nothing may be remembered now. */
  moment(): Promise<AccessMoment | undefined>
  remember<A>(maxBytes: number): Remembered<A>
}
export const AccessMemoryPort = portKey<AccessMemory>('authz.AccessMemory')

/** The memory that remembers nothing, and asks nothing. */
export const noAccessMemory: AccessMemory = {
  moment: async () => undefined,
  remember: () => ({ recall: () => undefined, keep: () => undefined }),
}

/** The same moment, or one at which no revision of the shards is another. */
const isTrueAt = ({ shards, moment: before }: Kept<unknown>, { revisions }: AccessMoment): boolean =>
  before.revisions === revisions || shards.every((shard) => before.revisions[shard] === revisions[shard])

export const makeAccessMemory = (moment: AccessMemory['moment'], caches: Caches): AccessMemory => ({
  moment,
  remember: <A>(maxBytes: number): Remembered<A> => {
    const cache: Cache<string, Kept<A>> = caches.make({ maxSize: maxBytes, sizeOf: ({ size }: Kept<A>) => size })
    return {
      recall: (key, moment) => {
        const kept = cache.get(key)
        if (kept === undefined || !isTrueAt(kept, moment)) return undefined
        // So that old revisions are not kept, and the next comparison is that of two references.
        kept.moment = moment
        return kept.value
      },
      keep: (key, moment, value, { shards, size }) =>
        cache.set(key, { value, shards, size: size + key.length, moment }),
    }
  },
})

const maxBytes = {
  tokens: 16 * 2 ** 20,
  sessions: 4 * 2 ** 20,
  names: 2 ** 20,
  objects: 16 * 2 ** 20,
  answers: 8 * 2 ** 20,
}
/** About what an entry takes in memory, beside its texts. */
const entryBytes = 600

const shardsOf = (accountId: number): readonly number[] => [shardOf(accountId), everyoneShard]

const latin1 = (hash: Uint8Array): string =>
  Buffer.from(hash.buffer, hash.byteOffset, hash.byteLength).toString('latin1')

/**
 * Returns the store with the memory of tokens, sessions and the names of users that are in force. A token or session is
 * taken from memory only while its mark of the last use is not due: whether it is due is always judged by what the
 * database says.
 */
export const rememberCredentials = (
  store: CredentialStore,
  memory: AccessMemory,
  isMarked: (lastUsedAt: Date | undefined) => boolean,
): CredentialStore => {
  const tokens = memory.remember<TokenGrant>(maxBytes.tokens)
  const sessions = memory.remember<SessionGrant>(maxBytes.sessions)
  const names = memory.remember<AccountState>(maxBytes.names)

  const tokenOf = async (
    key: string,
    hash: Uint8Array,
    read: (hash: Uint8Array) => Promise<TokenGrant | undefined>,
  ): Promise<TokenGrant | undefined> => {
    const provenAt = await memory.moment()
    if (provenAt === undefined) return read(hash)
    const kept = tokens.recall(key, provenAt)
    if (kept !== undefined && isMarked(kept.lastUsedAt)) return { ...kept, provenAt }
    const grant = await read(hash)
    if (grant === undefined) return undefined
    if (grant.account.isEnabled && isMarked(grant.lastUsedAt)) {
      const shards = shardsOf(grant.account.userId)
      const { profile } = grant
      tokens.keep(key, provenAt, grant, {
        shards: profile === undefined ? shards : [...shards, followersShard],
        size: entryBytes + (profile === undefined ? 0 : entryBytes + profile.description.length * 2),
      })
    }
    return { ...grant, provenAt }
  }

  return {
    ...store,
    tokenByHash: (hash) => tokenOf(`t${latin1(hash)}`, hash, store.tokenByHash),
    tokenWithProfileByHash: (hash) => tokenOf(`p${latin1(hash)}`, hash, store.tokenWithProfileByHash),
    async sessionByHash(hash) {
      const provenAt = await memory.moment()
      if (provenAt === undefined) return store.sessionByHash(hash)
      const key = latin1(hash)
      const kept = sessions.recall(key, provenAt)
      if (kept !== undefined && isMarked(kept.lastSeenAt)) return { ...kept, provenAt }
      const grant = await store.sessionByHash(hash)
      if (grant === undefined) return undefined
      if (grant.account.isEnabled && isMarked(grant.lastSeenAt))
        sessions.keep(key, provenAt, grant, { shards: shardsOf(grant.account.userId), size: entryBytes })
      return { ...grant, provenAt }
    },
    async accountByName(name, provenAt) {
      const moment = provenAt ?? (await memory.moment())
      if (moment === undefined) return store.accountByName(name)
      const key = name.toLowerCase()
      const kept = names.recall(key, moment)
      if (kept !== undefined) return kept
      const state = await store.accountByName(name)
      if (state !== undefined && state !== 'organization' && state.isEnabled)
        names.keep(key, moment, state, { shards: shardsOf(state.userId), size: entryBytes })
      return state
    },
  }
}

/** Returns the memory of answers of the authorization server. */
export const rememberAnswers = (memory: AccessMemory): KeptAnswers => {
  const answers = memory.remember<KeptAnswer>(maxBytes.answers)
  return {
    moment: memory.moment,
    recall: answers.recall,
    keep: (key, moment, answer, accounts) =>
      answers.keep(key, moment, answer, {
        shards: [...new Set([...accounts.map(shardOf), everyoneShard])],
        size: entryBytes + answer.body.length,
      }),
  }
}

/** Reports whether the look-up of a type of objects reads only tables whose changes raise revisions. */
const makeIsRemembered = (objectTypes: readonly ObjectTypeDefinition[], objectRows: readonly ObjectRows[]) => {
  const isDeclared = ({ table, owner, nameColumn = 'name', version }: ObjectRows): boolean => {
    const declared = accessTables[table]
    const decides = ['id', owner, nameColumn, ...(version === undefined ? [] : [version])]
    return (
      declared !== undefined &&
      decides.every((column) => declared.decides?.includes(column) ?? declared.ignored?.includes(column) !== true)
    )
  }
  const declared = new Set(objectRows.filter(isDeclared).map(({ type }) => type))
  const places = new Map(
    objectTypes.flatMap(({ type, place }) => (place === undefined ? [] : [[type, place] as const])),
  )
  const isRemembered = (type: string): boolean => {
    if (type === 'account' || type === 'organization') return true
    const place = places.get(type)
    if (place === undefined || (place.rows === 'own' && !declared.has(type))) return false
    return typeof place.in !== 'object' || isRemembered(place.in.type)
  }
  return isRemembered
}

const textOf = (key: ObjectKey | undefined): readonly [kind: string, value: string] =>
  key === undefined ? ['', ''] : 'name' in key ? ['name', key.name] : ['id', String(key.id)]

/** Each text with its length before it, so that no two locators have one key. */
const keyOf = (userId: number, locator: ObjectLocator): string =>
  [String(userId), locator.type, locator.account ?? '', ...textOf(locator), ...textOf(locator.within)]
    .map((text) => `${text.length}:${text}`)
    .join('')

/**
 * Returns the facts with the memory of objects that members have found. An object of a part from outside is not
 * remembered, since changes of its table raise nothing.
 */
export const rememberFacts = (
  facts: AuthorizationFacts,
  memory: AccessMemory,
  objectTypes: readonly ObjectTypeDefinition[],
  objectRows: readonly ObjectRows[],
): AuthorizationFacts => {
  const objects = memory.remember<LocatedObject>(maxBytes.objects)
  const isRemembered = makeIsRemembered(objectTypes, objectRows)
  return {
    ...facts,
    async locate(userId, locator, provenAt) {
      if (!isRemembered(locator.type)) return facts.locate(userId, locator)
      const moment = provenAt ?? (await memory.moment())
      if (moment === undefined) return facts.locate(userId, locator)
      const key = keyOf(userId, locator)
      const kept = objects.recall(key, moment)
      if (kept !== undefined) return kept
      const located = await facts.locate(userId, locator)
      if (located?.object !== undefined && located.context.isMember) {
        const { accountId, permissions, teamIds } = located.context
        objects.keep(key, moment, located, {
          shards: [...new Set([shardOf(userId), ...shardsOf(accountId)])],
          size: 2 * entryBytes + permissions.size * 80 + teamIds.length * 16,
        })
      }
      return located
    },
  }
}
