import { randomInt } from 'node:crypto'
import { isLeft } from 'fp-ts/lib/Either.js'
import type { CreateUserDeps } from '../../../core/identity/accounts/users.ts'
import { makeCreateFirstAdmin } from '../../../core/identity/accounts/users.ts'
import type { IdentityStores } from '../../../core/identity/ports.ts'
import {
  CommonPasswordsPort,
  DomainNamesPort,
  IdentitySettingsPort,
  IdentityUnitOfWorkPort,
  PasswordHasherPort,
} from '../../../core/identity/ports.ts'
import { ClockPort } from '../../../core/kernel/clock.ts'
import { secret } from '../../../core/kernel/secret.ts'
import type { Given } from '../../../plugins/kit/group.ts'
import { StartRefused } from '../../part/boot.ts'
import type { MakeFirstAdmin } from '../../part/operator.ts'
import { operatorCall } from '../../part/operator.ts'
import type { IdentityValues } from './settings.ts'

/** The ports of which an account is created. */
export const ofUserCreation = {
  unitOfWork: IdentityUnitOfWorkPort,
  hasher: PasswordHasherPort,
  common: CommonPasswordsPort,
  domains: DomainNamesPort,
  clock: ClockPort,
  settings: IdentitySettingsPort,
}

/** Returns the dependencies of creating an account, for the start and for the operator's commands. */
export const userCreation = ({ common, settings, ...given }: Given<typeof ofUserCreation>): CreateUserDeps => ({
  ...given,
  passwords: { minLength: settings.passwordMinLength, common },
})

/** Excludes letters and digits that look alike. */
const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789'

/** Returns a password of about 99 bits, in four groups of five characters that are easy to copy from a terminal. */
export const generatePassword = (): string =>
  Array.from({ length: 4 }, () =>
    Array.from({ length: 5 }, () => alphabet.charAt(randomInt(alphabet.length))).join(''),
  ).join('-')

/**
 * Returns what creates the first site admin when the store has none. It resolves undefined when there was one, or when
 * another instance created one first.
 */
export const makeFirstAdmin =
  (
    creation: CreateUserDeps,
    stores: IdentityStores,
    { adminUsername, adminEmail, adminPassword }: IdentityValues,
  ): MakeFirstAdmin =>
  async () => {
    const generatedPassword = adminPassword === undefined ? generatePassword() : undefined
    // Only the length of the operator's own password is checked: refusing to start because of a common password would
    // not help.
    const passwords = { ...creation.passwords, common: { includes: () => false } }
    const createFirstAdmin = makeCreateFirstAdmin({ ...creation, passwords, stores })
    const created = await createFirstAdmin(operatorCall('identity.createFirstAdmin'), {
      login: adminUsername,
      email: adminEmail,
      password: adminPassword ?? secret(generatedPassword ?? ''),
    })
    if (isLeft(created)) {
      throw new StartRefused([
        `The first site admin ${adminUsername} cannot be made: ${created.left.message} Check ` +
          'MOORAGE_ADMIN_USERNAME, MOORAGE_ADMIN_EMAIL and MOORAGE_ADMIN_PASSWORD.',
      ])
    }
    return created.right ? { username: adminUsername, generatedPassword } : undefined
  }
