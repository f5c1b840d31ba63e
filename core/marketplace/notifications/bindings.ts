import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure } from '../../kernel/failure.ts'
import { optionalSecret } from '../../kernel/secret.ts'
import type { InstallationAdmin } from '../ports.ts'
import { NotificationInvalid } from '../ports.ts'
import type { Binding, Marketplace } from '../types.ts'

/** What a notification says about the installation that is to be bound, as sent. */
export interface BindingInfo {
  readonly marketplace: string | undefined
  readonly installerId: string | undefined
  readonly clusterId: string | undefined
  readonly cloudAAccountID: string | undefined
  readonly adminUsername: string | undefined
  readonly adminPassword: string | undefined
}

/** A bind that has the form of one. */
export interface ParsedBinding extends Binding {
  readonly admin: InstallationAdmin
}

const refused = (what: string): Either<Failure<'NotificationInvalid'>, never> =>
  left(NotificationInvalid(`The binding info is not valid: ${what}.`))

/** Returns the installation that a notification of a marketplace names. */
export const parseBinding = (
  info: BindingInfo | undefined,
  marketplace: Marketplace,
): Either<Failure<'NotificationInvalid'>, ParsedBinding> => {
  if (info === undefined) return refused('it is missing')
  const { installerId = '', clusterId = '', cloudAAccountID = '', adminUsername = '', adminPassword } = info
  if (info.marketplace !== marketplace) return refused(`marketplace must be ${marketplace}`)
  if (installerId.trim() === '') return refused('installerId must not be empty')
  if (clusterId.trim() === '') return refused('clusterId must not be empty')
  if (cloudAAccountID !== '' && !/^\d{12}$/.test(cloudAAccountID)) return refused('cloudAAccountID must be 12 digits')
  return right({
    installerRef: installerId.trim().toLowerCase(),
    clusterId: clusterId.trim(),
    cloudAccountId: cloudAAccountID,
    admin: { username: adminUsername, password: optionalSecret(adminPassword === '' ? undefined : adminPassword) },
  })
}
