import { randomInt, randomUUID } from 'node:crypto'
import { isLeft } from 'fp-ts/lib/Either.js'
import type { CreateUserDeps } from '../../core/identity/accounts/users.ts'
import { makeCreateFirstAdmin } from '../../core/identity/accounts/users.ts'
import {
  CommonPasswordsToken,
  DomainNamesToken,
  IdentityStoresToken,
  IdentityUnitOfWorkToken,
  PasswordHasherToken,
} from '../../core/identity/ports.ts'
import { ClockToken } from '../../core/kernel/clock.ts'
import type { Call } from '../../core/kernel/principal.ts'
import { secret } from '../../core/kernel/secret.ts'
import { StartRefused } from '../boot.ts'
import type { Settings } from '../config/settings.ts'
import type { Container } from '../container.ts'

/** Returns a call by the operator of the service: without a signed-in user, from this machine. */
export const operatorCall = (operation: string, signal: AbortSignal = new AbortController().signal): Call => ({
  principal: undefined,
  requestId: randomUUID(),
  sourceIp: '127.0.0.1',
  operation,
  signal,
})

/** Returns the dependencies of creating an account, for the start and for the operator's commands. */
export const userCreation = ({ resolve }: Container, settings: Settings): CreateUserDeps => ({
  unitOfWork: resolve(IdentityUnitOfWorkToken),
  hasher: resolve(PasswordHasherToken),
  passwords: { minLength: settings.passwordMinLength, common: resolve(CommonPasswordsToken) },
  domains: resolve(DomainNamesToken),
  clock: resolve(ClockToken),
})

/** Excludes letters and digits that look alike. */
const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789'

/** Returns a password of about 99 bits, in four groups of five characters that are easy to copy from a terminal. */
export const generatePassword = (): string =>
  Array.from({ length: 4 }, () =>
    Array.from({ length: 5 }, () => alphabet.charAt(randomInt(alphabet.length))).join(''),
  ).join('-')

/** The first site admin, if this start created one. */
export interface FirstAdmin {
  readonly username: string
  /** Set when the password was generated. It is shown once and stored nowhere. */
  readonly generatedPassword: string | undefined
}

/**
 * Creates the first site admin when the store has none. Returns undefined when there was one, or when another instance
 * created one first.
 */
export const ensureFirstAdmin = async (container: Container, settings: Settings): Promise<FirstAdmin | undefined> => {
  const { adminUsername, adminEmail, adminPassword } = settings
  const generatedPassword = adminPassword === undefined ? generatePassword() : undefined
  const creation = userCreation(container, settings)
  // Only the length of the operator's own password is checked: refusing to start because of a common password would not
  // help.
  const passwords = { ...creation.passwords, common: { includes: () => false } }
  const createFirstAdmin = makeCreateFirstAdmin({
    ...creation,
    passwords,
    stores: container.resolve(IdentityStoresToken),
  })
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
