import { defineFailure } from '../kernel/failure.ts'
import type { User, UserChanges } from './types.ts'

export const ProfileInvalid = defineFailure('ProfileInvalid', 'Unprocessable')

const webAddress = /^https?:\/\/[^\s/?#@]+(?:[/?#]\S*)?$/i
const languageTag = /^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*$/

/** What is wrong with the texts of a profile; undefined when nothing is. Lengths are the codec's to check. */
export const profileProblem = (changes: Pick<UserChanges, 'website' | 'language'>): string | undefined => {
  if (changes.website !== undefined && changes.website !== '' && !webAddress.test(changes.website)) {
    return 'The website is no http or https address.'
  }
  if (changes.language !== undefined && !languageTag.test(changes.language)) return 'The language is no language tag, as en-US.'
  return undefined
}

/** The fields that really change, as an audit row tells them: all of them are facts that site admins see anyway. */
export const changedFields = (user: User, changes: UserChanges): Record<string, string | boolean> => {
  const changed: Record<string, string | boolean> = {}
  for (const [field, value] of Object.entries(changes) as [keyof UserChanges, string | boolean | undefined][]) {
    if (value !== undefined && user[field] !== value) changed[field] = value
  }
  return changed
}

/** The given fields alone: an absent one must not overwrite. */
export const presentFields = <T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as { [K in keyof T]?: Exclude<T[K], undefined> }
