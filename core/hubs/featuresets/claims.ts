import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { claimText, distribution } from '../../clusters/hub-types.ts'
import type { HubObject } from '../../clusters/hubs/ports.ts'
import type { Cache, Caches } from '../../kernel/cache.ts'
import { defineFailure, type Failure } from '../../kernel/failure.ts'
import { isObject } from '../../kernel/json.ts'
import type { YamlText } from '../../packages/ports.ts'

/** The claim of a spoke on its features is not YAML, or does not have the form of such a claim. */
export const ClaimUnreadable = defineFailure(
  'ClaimUnreadable',
  'Upstream',
  'The claims of the spoke about its features cannot be read.',
)

/** What a spoke reports of its features. */
export interface FeatureClaim {
  /** Chart version by name of each feature that is enabled. Empty: the version is not known. */
  readonly enabled: ReadonlyMap<string, string>
  /** Enabled features that were not installed by a release of the catalogue. */
  readonly external: ReadonlySet<string>
  /** Features that are disabled on the spoke. */
  readonly disabled: ReadonlySet<string>
}

const namesIn = (value: unknown): ReadonlySet<string> =>
  new Set(Array.isArray(value) ? value.filter((name): name is string => typeof name === 'string') : [])

/** A map of versions by name; older spokes report a list of names. */
const versionsIn = (value: unknown): ReadonlyMap<string, string> =>
  new Map(
    isObject(value)
      ? Object.entries(value).map(([name, version]) => [name, typeof version === 'string' ? version : ''])
      : [...namesIn(value)].map((name) => [name, '']),
  )

const unreadable = ClaimUnreadable('A claim of the spoke on its features cannot be read.')

const isListOrAbsent = (value: unknown): boolean => value === undefined || value === null || Array.isArray(value)

/** Parses the text of a claim. Empty text is a claim without features. @internal */
export const parseClaim = (
  yaml: Pick<YamlText, 'parse'>,
  text: string,
): Either<Failure<'ClaimUnreadable'>, FeatureClaim> => {
  const parsed = yaml.parse(text)
  if (isLeft(parsed)) return left(unreadable)
  const claim = parsed.right ?? {}
  if (!isObject(claim)) return left(unreadable)
  const { enabledFeatures, externallyManagedFeatures, disabledFeatures } = claim
  const hasForm =
    (isListOrAbsent(enabledFeatures) || isObject(enabledFeatures)) &&
    isListOrAbsent(externallyManagedFeatures) &&
    isListOrAbsent(disabledFeatures)
  return hasForm
    ? right({
        enabled: versionsIn(enabledFeatures),
        external: namesIn(externallyManagedFeatures),
        disabled: namesIn(disabledFeatures),
      })
    : left(unreadable)
}

type ReadClaim = ReturnType<typeof parseClaim>

/** Reads what spokes report of their features. */
export interface FeatureClaims {
  /** Returns the claim of a spoke; Right of undefined if it has none. */
  read(cluster: Pick<HubObject, 'body'>): Either<Failure<'ClaimUnreadable'>, FeatureClaim | undefined>
  /** Returns the claim of a spoke; undefined if it is not known: a spoke may have none, or one that cannot be read. */
  of(cluster: Pick<HubObject, 'body'>): FeatureClaim | undefined
}

/** The longest value that a claim can have on a hub. A longer one is parsed, and not kept. */
const maxKeptLength = 1024
const maxKept = 4000

/**
 * Keeps the parsed form of the texts that were read last: parsing takes long, and most spokes of a hub report the same.
 */
export const makeFeatureClaims = ({
  yaml,
  caches,
}: {
  readonly yaml: Pick<YamlText, 'parse'>
  readonly caches: Caches
}): FeatureClaims => {
  const kept: Cache<string, ReadClaim> = caches.make({ maxEntries: maxKept })

  const parsed = (text: string): ReadClaim => {
    const known = kept.get(text)
    if (known !== undefined) return known
    const claim = parseClaim(yaml, text)
    if (text.length <= maxKeptLength) kept.set(text, claim)
    return claim
  }
  const read: FeatureClaims['read'] = (cluster) => {
    const text = claimText(cluster, distribution.featuresClaim)
    return text === undefined ? right(undefined) : parsed(text)
  }
  return {
    read,
    of: (cluster) => {
      const claim = read(cluster)
      return isLeft(claim) ? undefined : claim.right
    },
  }
}
