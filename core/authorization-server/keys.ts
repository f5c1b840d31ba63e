import type { Clock } from '../kernel/clock.ts'
import { dayMilliseconds } from '../kernel/clock.ts'
import type { FreeObject } from '../kernel/json.ts'
import { fromWireJson, isObject, toWireJson } from '../kernel/json.ts'
import type { Entropy, SealedPlace, SecretBox } from '../kernel/secret.ts'
import { hex, secret } from '../kernel/secret.ts'
import type { KeyFactory, KeysInUse, KeyStore, ProtocolKeys } from './ports.ts'
import type { KeyGeneration } from './types.ts'

/** A key signs for this long. */
const signsDays = 90
/** A new key is published this long before it signs: clients have read it by then. */
const publishedBeforeDays = 1
/** A key stays published this long after its last signature: longer than any token that it signed. */
const keptAfterDays = 7
const rereadMilliseconds = 60_000

type Age = Pick<KeyGeneration, 'createdAt' | 'generation'>

const daysSince = ({ createdAt }: Age, now: Date): number => (now.getTime() - createdAt.getTime()) / dayMilliseconds

/** What is to be done with generations of keys, newest first. */
export interface Rotation {
  /** The one that signs; undefined if there is none. */
  readonly signing: Age | undefined
  readonly needsNew: boolean
  readonly retired: readonly Age[]
}

/** Decides on the keys, newest first. The oldest one signs until the next has been published for a day. @internal */
export const rotationOf = (generations: readonly Age[], now: Date): Rotation => {
  const [newest] = generations
  const signing = generations.find((each) => daysSince(each, now) >= publishedBeforeDays) ?? generations.at(-1)
  const before = generations.filter(({ generation }) => signing !== undefined && generation < signing.generation)
  const hasLongSigned = signing !== undefined && daysSince(signing, now) >= publishedBeforeDays + keptAfterDays
  return {
    signing,
    needsNew: newest === undefined || daysSince(newest, now) >= signsDays - publishedBeforeDays,
    retired: hasLongSigned ? before : [],
  }
}

export interface KeyDeps {
  readonly keys: KeyStore
  readonly factory: KeyFactory
  readonly secretBox: SecretBox
  readonly entropy: Entropy
  readonly clock: Clock
}

const placeOf = ({ generation }: Pick<KeyGeneration, 'generation'>): SealedPlace => ({
  table: 'oauth_keys',
  column: 'sealed',
  tenantId: 0,
  rowRef: String(generation),
})

/** Makes the next keys and removes those that nothing needs, if it is time. */
export const makeRotateKeys = (deps: KeyDeps) => async (): Promise<void> => {
  const generations = await deps.keys.list()
  const { needsNew, retired } = rotationOf(generations, deps.clock.now())
  if (needsNew) {
    const generation = (generations[0]?.generation ?? 0) + 1
    const jwk = (await deps.factory.make()).reveal()
    const cookieKey = hex(deps.entropy.bytes(32))
    const sealed = await deps.secretBox.seal(secret(toWireJson({ jwk, cookieKey })), placeOf({ generation }))
    // Another process may have made it at the same moment: then its key is used.
    await deps.keys.insert({ generation, createdAt: deps.clock.now(), sealed })
  }
  for (const { generation } of retired) await deps.keys.remove(generation)
}

const opened = async (secretBox: SecretBox, { generation, sealed }: KeyGeneration) => {
  const content = fromWireJson((await secretBox.open(sealed, placeOf({ generation }))).reveal())
  const { jwk, cookieKey } = isObject(content) ? content : {}
  if (!isObject(jwk) || typeof cookieKey !== 'string') throw new Error('a signing key cannot be read')
  return { jwk, cookieKey }
}

/** Returns the keys in use. See the port. */
export const makeProtocolKeys = (deps: KeyDeps): ProtocolKeys => {
  const rotate = makeRotateKeys(deps)
  let read: { readonly at: number; readonly keys: Promise<KeysInUse> } | undefined

  const load = async (): Promise<KeysInUse> => {
    let generations = await deps.keys.list()
    if (generations.length === 0) {
      await rotate()
      generations = await deps.keys.list()
    }
    const { signing } = rotationOf(generations, deps.clock.now())
    const first = generations.filter(({ generation }) => generation === signing?.generation)
    const others = generations.filter(({ generation }) => generation !== signing?.generation)
    const contents = await Promise.all([...first, ...others].map((each) => opened(deps.secretBox, each)))
    return {
      jwks: contents.map(({ jwk }): FreeObject => jwk),
      cookieKeys: contents.map(({ cookieKey }) => cookieKey),
      revision: [...first, ...others].map(({ generation }) => generation).join(' '),
    }
  }

  return {
    current() {
      const now = deps.clock.now().getTime()
      if (read !== undefined && now - read.at < rereadMilliseconds) return read.keys
      const keys = load()
      const mine = { at: now, keys }
      read = mine
      keys.catch(() => {
        if (read === mine) read = undefined
      })
      return keys
    },
  }
}
