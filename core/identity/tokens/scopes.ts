import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { ScopeCategory, ScopeLevel, ScopeSet } from '../../kernel/principal.ts'
import { allows, scopeCategories } from '../../kernel/principal.ts'

export const ScopeUnknown = defineFailure('ScopeUnknown', 'Unprocessable', 'A scope does not exist.')
export const ScopesEmpty = defineFailure('ScopesEmpty', 'Unprocessable', 'The list of scopes is empty.')
/** A token cannot grant more than it has. */
export const ScopeExceeded = defineFailure(
  'ScopeExceeded',
  'Forbidden',
  'The token would have scopes that the token that asks does not have.',
)

/** Categories of older servers. They are accepted so that existing scripts work, but have no effect. */
const legacyCategories = ['repository', 'issue', 'package', 'notification', 'activitypub'] as const
const flags = ['all', 'public-only', 'sudo'] as const
const levels: readonly ScopeLevel[] = ['read', 'write']

const knownWords: ReadonlySet<string> = new Set([
  ...flags,
  ...[...scopeCategories, ...legacyCategories].flatMap((category) => levels.map((level) => `${level}:${category}`)),
])

/** Returns the words without duplicates and without `read:x` beside `write:x`, in a fixed order. */
const canonical = (words: readonly string[]): readonly string[] =>
  [...knownWords].filter(
    (word) =>
      words.includes(word) && !(word.startsWith('read:') && words.includes(`write:${word.slice('read:'.length)}`)),
  )

/** Parses the scopes of a request. Absent means everything; an empty list is an error. */
export const parseScopeWords = (
  words: readonly string[] | undefined,
): Either<Failure<'ScopeUnknown'> | Failure<'ScopesEmpty'>, readonly string[]> => {
  if (words === undefined) return right(['all'])
  if (words.length === 0) return left(ScopesEmpty('Name at least one scope, or leave `scopes` out for all of them.'))
  const unknown = words.filter((word) => !knownWords.has(word))
  if (unknown.length > 0) {
    const named = unknown.slice(0, 20).map((word) => word.slice(0, 64))
    return left(
      ScopeUnknown(`scopes: There is no scope ${named.map((word) => `"${word}"`).join(', ')}.`, {
        errors: named.map((word) => `scopes: ${word}`),
      }),
    )
  }
  return right(canonical(words))
}

/** Returns what the granted words allow. Unknown words grant nothing. */
export const scopeSetOf = (words: readonly string[]): ScopeSet => {
  const granted: Partial<Record<ScopeCategory, ScopeLevel>> = {}
  for (const category of scopeCategories) {
    if (words.includes(`write:${category}`)) granted[category] = 'write'
    else if (words.includes(`read:${category}`)) granted[category] = 'read'
  }
  const all = words.includes('all')
  return { all, sudo: all || words.includes('sudo'), publicOnly: words.includes('public-only'), levels: granted }
}

/** Reports whether `held` allows everything that `asked` allows. */
export const scopeCovers = (held: ScopeSet, asked: ScopeSet): boolean =>
  (held.all || !asked.all) &&
  (held.sudo || !asked.sudo) &&
  (!held.publicOnly || asked.publicOnly) &&
  scopeCategories.every((category) => {
    const level = asked.levels[category]
    return level === undefined || allows(held, { category, level })
  })

/** Returns the words of a scope set. It is the inverse of `scopeSetOf`, except for words without effect. */
export const wordsOfScope = (scope: ScopeSet): readonly string[] =>
  canonical([
    ...(scope.all ? ['all'] : []),
    ...(scope.publicOnly ? ['public-only'] : []),
    ...(scope.sudo && !scope.all ? ['sudo'] : []),
    ...scopeCategories.flatMap((category) => {
      const level = scope.levels[category]
      return level === undefined ? [] : [`${level}:${category}`]
    }),
  ])

/** Returns the words of `asked` that `held` does not cover. */
const wordsBeyond = (held: ScopeSet, asked: ScopeSet): readonly string[] => [
  ...wordsOfScope(asked).filter(
    (word) => word !== 'public-only' && !scopeCovers({ ...held, publicOnly: false }, scopeSetOf([word])),
  ),
  // A token limited to public objects cannot create a token for all objects.
  ...(held.publicOnly && !asked.publicOnly ? ['a scope without public-only'] : []),
]

/** Returns a message that names the scopes beyond those of the requesting token. */
export const exceeds = (verb: 'make' | 'rotate', held: ScopeSet, asked: ScopeSet): string => {
  const beyond = wordsBeyond(held, asked)
  const named = beyond.length === 0 ? '' : ` It does not carry: ${beyond.join(', ')}.`
  return `A token cannot ${verb} a token that may do more than itself.${named}`
}
