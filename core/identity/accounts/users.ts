import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import { parseInstant } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { IdentityStores } from '../ports.ts'
import type { User, UserChanges, Viewer } from '../types.ts'
import { maySee } from '../types.ts'

export const UserMissing = defineFailure('UserMissing', 'NotFound')

/** Returns the same message for a user who does not exist and for one who may not be seen. */
export const userMissing = (): Failure<'UserMissing'> => UserMissing('The user does not exist.')

/** Finds a user by name for a viewer. An organization's name does not match. */
export const findUser = async (
  { users }: Pick<IdentityStores, 'users'>,
  viewer: Viewer,
  login: string,
): Outcome<Failure<'UserMissing'>, User> => {
  const user = await users.byLogin(login)
  return user !== undefined && maySee(viewer, user) ? right(user) : left(userMissing())
}

export const ProfileInvalid = defineFailure('ProfileInvalid', 'Unprocessable')

const webAddress = /^https?:\/\/[^\s/?#@]+(?:[/?#]\S*)?$/i
const languageTag = /^[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8})*$/

/** Returns the conventional case of one subtag of a language tag, RFC 5646 §2.1.1. */
const subtagCase = (subtag: string): string => {
  if (/^[a-z]{2}$/.test(subtag)) return subtag.toUpperCase()
  return /^[a-z]{4}$/.test(subtag) ? subtag.charAt(0).toUpperCase() + subtag.slice(1) : subtag
}

/**
 * Returns the conventional spelling of a language tag: `de_de` becomes `de-DE`. Subtags after a single-character subtag
 * are lower case.
 */
const languageSpelling = (tag: string): string => {
  const subtags = tag.toLowerCase().split(/[-_]/)
  const single = subtags.findIndex((subtag) => subtag.length === 1)
  return subtags.map((subtag, i) => (i === 0 || (single !== -1 && i > single) ? subtag : subtagCase(subtag))).join('-')
}

/**
 * Returns the changes with their language in its conventional spelling. An empty text clears a field. The codec checks
 * lengths.
 */
export const readProfile = <C extends Pick<UserChanges, 'website' | 'language'>>(changes: C): Either<Failure<'ProfileInvalid'>, C> => {
  const { website, language } = changes
  if (website !== undefined && website !== '' && !webAddress.test(website)) return left(ProfileInvalid('website: must be an http or https address.'))
  if (language === undefined || language === '') return right(changes)
  if (!languageTag.test(language)) return left(ProfileInvalid('language: must be a language tag, such as en-US.'))
  return right({ ...changes, language: languageSpelling(language) })
}

/** The text is not an instant, or is in the future. */
export const CreationTimeRefused = defineFailure('CreationTimeRefused', 'Unprocessable')

/** Parses the RFC 3339 creation time of an imported account; undefined if it is absent. */
export const creationTime = (text: string | undefined, now: Date): Either<Failure<'CreationTimeRefused'>, Date | undefined> => {
  if (text === undefined) return right(undefined)
  const at = parseInstant(text)
  if (at !== undefined && at.getTime() >= 0 && at.getTime() <= now.getTime()) return right(at)
  return left(CreationTimeRefused('created_at: must be an RFC 3339 date-time since 1970 that is not in the future, such as 2024-05-01T08:00:00Z.'))
}
