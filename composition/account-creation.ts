import type { CreateUserDeps } from '../core/identity/create-user.ts'
import { CommonPasswordsToken, DomainNamesToken, IdentityUnitOfWorkToken, PasswordHasherToken } from '../core/identity/ports.ts'
import { ClockToken } from '../core/kernel/clock.ts'
import type { Container } from './container.ts'
import type { Settings } from './settings.ts'

/** What creating an account needs, for the start and for the operator's commands. */
export const userCreation = ({ resolve }: Container, settings: Settings): CreateUserDeps => ({
  unitOfWork: resolve(IdentityUnitOfWorkToken),
  hasher: resolve(PasswordHasherToken),
  passwords: { minLength: settings.passwordMinLength, common: resolve(CommonPasswordsToken) },
  domains: resolve(DomainNamesToken),
  clock: resolve(ClockToken),
})
