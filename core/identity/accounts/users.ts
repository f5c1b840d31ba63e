import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import { parseInstant } from '../../kernel/clock.ts'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import { defineFailure } from '../../kernel/failure.ts'
import type { IdentityStores } from '../ports.ts'
import type { User, UserChanges, Viewer } from '../types.ts'
import { maySee } from '../types.ts'

export const UserMissing = defineFailure('UserMissing', 'NotFound')

/** One message for a user who is not there and one who may not be seen. */
export const userMissing = (): Failure<'UserMissing'> => UserMissing('There is no such user.')

/** Finds a user by name for a viewer. An organization's name is no user. */
export const makeFindUser =
  (stores: IdentityStores) =>
  async (viewer: Viewer, login: string): Outcome<Failure<'UserMissing'>, User> => {
    const user = await stores.users.byLogin(login)
    return user !== undefined && maySee(viewer, user) ? right(user) : left(userMissing())
  }

export const ProfileInvalid = defineFailure('ProfileInvalid', 'Unprocessable')

const webAddress = /^https?:\/\/[^\s/?#@]+(?:[/?#]\S*)?$/i
const languageTag = /^[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8})*$/

/** The usual case of one part of a language tag, RFC 5646 §2.1.1. */
const subtagCase = (subtag: string): string => {
  if (/^[a-z]{2}$/.test(subtag)) return subtag.toUpperCase()
  return /^[a-z]{4}$/.test(subtag) ? subtag.charAt(0).toUpperCase() + subtag.slice(1) : subtag
}

/** The usual spelling of a language tag: `de_de` is `de-DE`. What follows a part of one character stays in lower case. */
const languageSpelling = (tag: string): string => {
  const subtags = tag.toLowerCase().split(/[-_]/)
  const single = subtags.findIndex((subtag) => subtag.length === 1)
  return subtags.map((subtag, i) => (i === 0 || (single !== -1 && i > single) ? subtag : subtagCase(subtag))).join('-')
}

/** The changes with their language in its usual spelling; an empty text clears a field. Lengths are the codec's to check. */
export const readProfile = <C extends Pick<UserChanges, 'website' | 'language'>>(changes: C): Either<Failure<'ProfileInvalid'>, C> => {
  const { website, language } = changes
  if (website !== undefined && website !== '' && !webAddress.test(website)) return left(ProfileInvalid('The website is no http or https address.'))
  if (language === undefined || language === '') return right(changes)
  if (!languageTag.test(language)) return left(ProfileInvalid('The language is no language tag, as en-US.'))
  return right({ ...changes, language: languageSpelling(language) })
}

/** The given fields alone: an absent one must not overwrite. */
export const presentFields = <T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as { [K in keyof T]?: Exclude<T[K], undefined> }

/** No instant, or one to come. */
export const CreationTimeRefused = defineFailure('CreationTimeRefused', 'Unprocessable')

/** Since when there is an account that comes from elsewhere, of an RFC 3339 text; undefined where nothing is said. */
export const creationTime = (text: string | undefined, now: Date): Either<Failure<'CreationTimeRefused'>, Date | undefined> => {
  if (text === undefined) return right(undefined)
  const at = parseInstant(text)
  if (at !== undefined && at.getTime() >= 0 && at.getTime() <= now.getTime()) return right(at)
  return left(CreationTimeRefused('created_at is an RFC 3339 instant since 1970 that is not in the future, as 2024-05-01T08:00:00Z.'))
}
